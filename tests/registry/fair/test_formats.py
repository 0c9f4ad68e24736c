"""The list of formats: what negotiation, links and documents are made from."""

import json
from xml.etree import ElementTree

import pytest
import rdflib
import yaml

from registry.fair.description import Description
from registry.fair.formats import FORMATS, Format, formats_of

from .samples import EVERY

CASES = [
    pytest.param(one, EVERY[name], id=f"{one.name}-{name}")
    for name in EVERY
    for one in formats_of(EVERY[name].kind)
]


@pytest.mark.parametrize(("written", "description"), CASES)
def test_a_format_is_what_its_media_type_says_and_the_same_each_time(
    written: Format, description: Description
) -> None:
    data = written.render(description)
    assert data == written.render(description)
    text = data.decode()
    if written.media_type.endswith("json"):
        assert json.loads(text)
    elif written.media_type.endswith("xml"):
        assert ElementTree.fromstring(text) is not None  # noqa: S314  our own bytes
    elif written.media_type.endswith("yaml"):
        assert yaml.safe_load(text)
    elif written.media_type == "text/turtle":
        assert len(rdflib.Graph().parse(data=text, format="turtle"))
    else:
        assert text.startswith(("@", "TY  - "))


def test_names_and_extensions_are_different_and_the_canonical_format_is_last() -> None:
    assert len({one.name for one in FORMATS}) == len({one.extension for one in FORMATS}) == 16
    assert FORMATS[-1].name == "jsonld"


def test_what_is_negotiated_has_a_type_of_its_own() -> None:
    types = [one.media_type for one in FORMATS if one.is_negotiated]
    assert len(types) == len(set(types))


def test_a_data_set_has_no_bill_of_materials_of_models() -> None:
    assert {one.name for one in FORMATS} - {one.name for one in formats_of("dataset")} == {
        "codemeta",
        "cyclonedx",
        "model-index",
    }
