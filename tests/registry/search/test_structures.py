"""Embeddings of structures on disk, and their order by similarity."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from registry.search import orders, structures
from registry.search.structures import StructureWriter, groups
from registry.selectors.search.catalogue import catalogue_search
from tests.registry.search import rows
from tests.registry.search.test_catalogue_pages import walked

HASHES = sorted(rows.structure_hash(str(number)) for number in range(40))


def ranked(folder: Path, reference: tuple[float, ...], **options: Any) -> list[tuple[float, str]]:
    values = {"most": np.inf, "among": None} | options
    each = [group.ranked(**values) for group in groups(folder, "mlp", reference)]
    return [(-negative, structure) for negative, structure in itertools.chain(*each)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(structures, "_FIRST_PART", 2)
    writer = StructureWriter(tmp_path, lambda structure: structure == HASHES[30])
    for number, structure in enumerate(HASHES[:12]):
        angle = number // 2 * 0.1
        writer.add(structure, "mlp", [2 * np.cos(angle), 2 * np.sin(angle)])
    writer.add(HASHES[12], "other", [1.0, 0.0])
    writer.add(HASHES[13], "mlp", [1.0, 0.0, 0.0])
    writer.add(HASHES[14], "mlp", [])
    writer.add(HASHES[30], "mlp", [1.0, 0.0])
    writer.commit()
    return tmp_path


def test_the_own_class_comes_first_then_cosines_then_hashes(folder: Path) -> None:
    order = ranked(folder, (3.0, 0.0))
    assert [structure for _, structure in order] == HASHES[:13]
    assert order[0][0] == 1.0
    assert order[2][0] == pytest.approx(np.cos(0.1), abs=1e-6)


def test_a_page_continues_at_a_cosine_and_a_few_are_found_among_many(folder: Path) -> None:
    cosine = round(float(np.cos(0.1)), 6)
    order = ranked(folder, (1.0, 0.0), most=cosine)
    assert [structure for _, structure in order] == HASHES[2:12]
    order = ranked(folder, (1.0, 0.0), among={HASHES[12], HASHES[7], HASHES[2], HASHES[38]})
    assert [structure for _, structure in order] == [HASHES[2], HASHES[7], HASHES[12]]


def test_a_part_of_a_record_is_cut_off_and_repeated_ones_count_once(folder: Path) -> None:
    path = folder / "structures-mlp-2"
    with path.open("ab") as file:
        file.write(b"killed here")
    writer = StructureWriter(folder, lambda _: False)
    writer.add(HASHES[0], "mlp", [1.0, 0.0])
    writer.add(HASHES[20], "mlp", [0.0, 1.0])
    writer.commit()
    order = [structure for _, structure in ranked(folder, (1.0, 0.0))]
    assert order == [*HASHES[:12], HASHES[20], HASHES[12]]


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
@pytest.mark.parametrize("size", ["few", "many"])
def test_more_structures_than_are_looked_up_at_once_are_all_listed(
    size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size == "many":
        monkeypatch.setattr(orders, "_structures_of_few", lambda *_: None)
    monkeypatch.setattr(orders, "_FIRST_STRUCTURES", 1)
    rows.graph(rows.mlmodel("lab/reference"), structure="0", embedding=(1.0, 0.0))
    for number in range(1, 9):
        angle = number * 0.1
        rows.graph(
            rows.mlmodel(f"lab/n{number}", task="odd" if number % 2 else "even"),
            structure=str(number),
            embedding=(float(np.cos(angle)), float(np.sin(angle))),
        )
    names = [f"lab/n{number}" for number in range(1, 9)]
    assert walked(similar_to="lab/reference", limit=3) == names
    assert walked(similar_to="lab/reference", task="even", limit=3) == names[1::2]
    gone = catalogue_search(None, query="n8").items[0]
    rows.announce(gone)
    gone.refs.all().delete()
    gone.delete()
    assert walked(similar_to="lab/reference", limit=3) == names[:-1]
