import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from registry.fair.description import missing_fields
from registry.fair.linked import dcat, jsonld, shape, turtle, vocabulary
from tests.registry.fair.samples import DATASET, EVERY, HUB, LEAST, MOST, file_of
from tests.validators.environments import run

_PROGRAM = Path(__file__).parent.parent.parent / "validators/linked_data.py"
#: One field of a complete record less, each.
INCOMPLETE = {
    "no-description": replace(MOST, description=None),
    "short-description": replace(MOST, description="Sorts galaxies."),
    "no-creators": replace(MOST, creators=(), contributors=(), contact=None),
    "no-licence": replace(MOST, license=None),
    "no-task": replace(MOST, task=None),
}
RECORDS = EVERY | INCOMPLETE
#: What no hub may say.
BROKEN = {
    "wrong-digest": replace(
        MOST, files=(replace(file_of("x", "text/plain", "other"), sha256="00"),)
    ),
    "unnamed": replace(MOST, title=""),
    "no-version": replace(MOST, version=""),
    "no-address": replace(MOST, landing="nowhere"),
}
PAGE = dcat.CatalogPage(
    url=f"{HUB.url}/catalog?page=2",
    total=12,
    first=f"{HUB.url}/catalog?page=1",
    previous=f"{HUB.url}/catalog?page=1",
    last=f"{HUB.url}/catalog?page=2",
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the validators found in every record, in the vocabulary and in the catalogue."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "shape.ttl").write_bytes(turtle.turtle(shape.document(HUB)))
    (folder / "core.ttl").write_bytes(turtle.turtle(shape.core_document(HUB)))
    documents = {name: jsonld.document(one) for name, one in (RECORDS | BROKEN).items()}
    documents["vocabulary"] = vocabulary.document()
    documents["catalogue"] = dcat.document(HUB, [dcat.summary(one) for one in (LEAST, MOST)], PAGE)
    for name, document in documents.items():
        (folder / f"{name}.jsonld").write_text(json.dumps(document))
        (folder / f"{name}.ttl").write_bytes(turtle.turtle(document))
    found: dict[str, Any] = json.loads(run("linked", "python", str(_PROGRAM), str(folder)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RECORDS, "vocabulary", "catalogue"])
def test_independent_readers_find_the_same_triples(seen: dict[str, Any], name: str) -> None:
    assert seen[name]["same"]
    assert seen[name]["triples"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_claims_the_shape_exactly_when_it_passes_it(
    seen: dict[str, Any], name: str
) -> None:
    names = {one["@id"] for one in jsonld.document(RECORDS[name])["dct:conformsTo"]}
    claims = HUB.shape_url in names
    assert seen[name]["conforms"] == claims == (not missing_fields(RECORDS[name])), seen[name][
        "report"
    ]
    assert HUB.core_shape_url in names
    assert seen[name]["conforms_to_core"], seen[name]["report"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["most", "withdrawn", "dataset"])
def test_complete_records_pass_the_shape(seen: dict[str, Any], name: str) -> None:
    assert seen[name]["conforms"], seen[name]["report"]


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_shape_finds_what_no_hub_may_say(seen: dict[str, Any], name: str) -> None:
    assert not seen[name]["conforms"]
    assert not seen[name]["conforms_to_core"]


def test_what_is_missing_is_named_by_field() -> None:
    assert missing_fields(LEAST) == ("description", "creators", "license", "task")
    assert missing_fields(DATASET) == missing_fields(MOST) == ()
    assert missing_fields(INCOMPLETE["short-description"]) == ("description",)
