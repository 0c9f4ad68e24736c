"""Identifiers of the test authority are marked in every format that has room for a note."""

import json
from dataclasses import replace

import pytest

from registry.fair.ark import TEST_NOTE
from registry.fair.formats import formats_of
from tests.registry.fair.samples import CONCEPT_PID, LEAST, MOST, PID

_FORMATS = {one.name: one for one in formats_of("model")}
_NOTED = (
    "jsonld",
    "turtle",
    "datacite-json",
    "datacite-xml",
    "cff",
    "cyclonedx",
    "spdx",
    "rocrate",
    "croissant",
    "csl",
    "ris",
    "prov-json",
)
_OWN = replace(
    LEAST,
    pid=PID.replace("99999", "12345"),
    concept_pid=CONCEPT_PID.replace("99999", "12345"),
    versions=(),
)


def rendered(name: str, description: object) -> str:
    return _FORMATS[name].render(description).decode()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", _NOTED)
def test_the_test_authority_is_marked_as_one(name: str) -> None:
    for description in (MOST, LEAST):
        # CFF folds long lines.
        assert TEST_NOTE in " ".join(rendered(name, description).split())
    assert "test authority" not in rendered(name, _OWN)


@pytest.mark.parametrize("name", ["cyclonedx", "spdx"])
def test_bills_call_no_identifier_of_the_test_authority_persistent(name: str) -> None:
    assert "persistent identifier" not in rendered(name, MOST)
    assert "persistent identifier of all versions" in rendered(name, _OWN)


def test_the_licence_of_an_spdx_document_is_cc0() -> None:
    for description in (MOST, LEAST):
        elements = {
            one.get("spdxId"): one for one in json.loads(rendered("spdx", description))["@graph"]
        }
        (document,) = (one for one in elements.values() if one["type"] == "SpdxDocument")
        licence = elements[document["dataLicense"]]
        assert licence["simplelicensing_licenseExpression"] == "CC0-1.0"
        assert licence["spdxId"] in document["element"]
