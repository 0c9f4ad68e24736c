"""Records of versions with many files: bounded, valid, and open about what they leave out."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from registry.fair.crate.graph import CrateGraph, compact
from registry.fair.description import MAX_CRATE_FILES
from registry.fair.formats import formats_of
from registry.fair.signposting import render_linkset, render_linkset_text
from registry.selectors.fair.description import describe
from registry.selectors.fair.description.files import MAX_FILES
from registry.selectors.repository.revision import revision_get
from registry.services.repository.revision import Add, commit
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision, User
from tests.costs import Costs, costs_of
from tests.factories import make_mlmodel, readme, store

pytestmark = pytest.mark.django_db

_FIRST = "a/{:06}.bin"


def large(number: int, actor: User, kind: RepositoryKind = RepositoryKind.MODEL) -> Revision:
    """A version with a card, a file that sorts last, and ``number`` others."""
    mlmodel = make_mlmodel(f"lab/large-{number}", actor=actor, kind=kind)
    same = store(b"the same", actor)
    card = store(readme(license="apache-2.0").encode(), actor)
    operations = [Add(_FIRST.format(one), same.sha256) for one in range(number)]
    operations += [Add("README.md", card.sha256), Add("samples.npz", same.sha256)]
    commit(actor=actor, mlmodel=mlmodel, message="Add all", operations=operations)
    return revision_at(mlmodel)


def revision_at(mlmodel: MLModel) -> Revision:
    revision = revision_get(mlmodel)
    return Revision.objects.select_related("mlmodel__namespace").get(pk=revision.pk)


@pytest.mark.parametrize("kind", RepositoryKind)
def test_records_cost_the_same_for_2_000_and_20_000_files(
    charlie: User, lab: object, data_dir: Path, kind: RepositoryKind
) -> None:
    costs: list[Costs] = []
    lengths: list[dict[str, int]] = []
    for number in (2_000, 20_000):
        revision = large(number, charlie, kind)
        with costs_of() as cost:
            description = describe(revision)
        costs.append(cost)
        assert description.file_count == number + 3
        assert description.size_bytes == sum(
            revision.files.values_list("blob__size_bytes", flat=True)
        )
        paths = [file.path for file in description.files]
        assert len(paths) == MAX_FILES + 1
        assert paths == sorted(paths)
        assert {"README.md", ".gitattributes", "samples.npz", _FIRST.format(0)} < set(paths)
        texts = {one.name: one.render(description) for one in formats_of(description.kind)}
        texts |= {"linkset": render_linkset(description), "text": render_linkset_text(description)}
        lengths.append({name: len(text) for name, text in texts.items()})
        for name in ("jsonld", "turtle", "rocrate", "spdx", "linkset"):
            assert f"/tree/{revision.oid}?recursive=true".encode() in texts[name], name
    assert costs[0] == costs[1]
    assert costs[0].rows < 2 * MAX_FILES
    for name, length in lengths[0].items():
        assert abs(lengths[1][name] - length) < 2_000, name
        assert length < 500_000, name


def test_the_page_and_the_list_it_names_are_short(
    client: Client, charlie: User, lab: object, data_dir: Path
) -> None:
    revision = large(2_000, charlie)
    page = client.get("/lab/large-2000")
    assert len(page.content) < 300_000
    listed = client.get(f"/api/models/lab/large-2000/tree/{revision.oid}?recursive=true")
    assert len(listed.json()) == 1000
    assert "next" in listed.headers["Link"]


def test_few_files_are_packed_and_many_are_refused(
    client: Client, charlie: User, lab: object, data_dir: Path
) -> None:
    revision = large(2_000, charlie)
    with costs_of() as cost:
        answer = client.get("/lab/large-2000/crate")
        data = b"".join(answer)
    assert cost.rows < 2_000 + 3 * MAX_FILES
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 2_000 + 3 + 1
    Revision.objects.filter(pk=revision.pk).update(file_count=MAX_CRATE_FILES + 1)
    # Another version of the record, which is not in the cache.
    revision.mlmodel.title = "Larger"
    MLModel.objects.filter(pk=revision.mlmodel_id).update(updated_at="2030-01-01T00:00:00Z")
    with costs_of() as cost:
        refused = client.get("/lab/large-2000/crate")
    assert refused.status_code == 400
    assert "git clone" in refused.content.decode()
    assert cost.rows < 2 * MAX_FILES
    assert b"/crate" not in client.get("/lab/large-2000").content


def test_no_value_is_compared_with_all_others() -> None:
    class Reference(dict[str, str]):
        comparisons = 0

        def __eq__(self, other: object) -> bool:
            Reference.comparisons += 1
            return dict.__eq__(self, other)

        __hash__: Any = None

    references = [Reference({"@id": f"#{one % 700}"}) for one in range(1_000)]
    assert len(compact(references)) == 700
    graph = CrateGraph()
    for one in references:
        graph.add("#one", "Thing", about=one)
    assert len(graph.entities()[0]["about"]) == 700
    assert Reference.comparisons < 2_000
