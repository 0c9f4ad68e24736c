"""CITATION.cff, BibTeX and model-index: what their readers make of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from registry.fair import citation, modelindex
from registry.fair.parts import Agent, License, Organization
from registry.validation.card import parse
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, WITHDRAWN
from tests.validators.environments import run

_CFF_PROGRAM = """
import pathlib, sys
from cffconvert import Citation
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.cff")):
    cff = Citation(path.read_text())
    cff.validate()
    assert cff.cffobj["title"], path
    path.with_suffix(".apa").write_text(cff.as_apalike())
"""
_BIBTEX_PROGRAM = """
import json, pathlib, sys
from pybtex.database import parse_file
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.bib")):
    [(key, entry)] = parse_file(str(path), "bibtex").entries.items()
    people = list(map(str, entry.persons.get("author", [])))
    found = {"key": key, "type": entry.type, "people": people}
    path.with_suffix(".json").write_text(json.dumps(found | dict(entry.fields)))
"""
_ODD = replace(
    MOST,
    title='{Brace} "quote" \\macro 50 % of $5 & #1_a~b^c <script>\U0001f600',
    description='"two"\nlines: - of\t<b>text</b>',
    contact=Agent(name="lab@example.org", email="lab@example.org"),
    creators=(
        Agent(name="Carberry, Josiah"),
        Agent(name="Simon and Garfunkel"),
        Agent(name="Ä, B, C"),
        Agent(name="Team {A}", kind="organization", ror="https://ror.org/05dxps055"),
    ),
    license=License(
        expression="MIT OR CDLA-Permissive-2.0",
        uris=(
            "https://spdx.org/licenses/MIT",
            "https://spdx.org/licenses/CDLA-Permissive-2.0",
        ),
    ),
)
ALL = EVERY | {"odd": _ODD}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every sample, and what cffconvert and pybtex read in it."""
    folder = tmp_path_factory.mktemp("citation")
    for name, description in ALL.items():
        (folder / f"{name}.cff").write_bytes(citation.render_cff(description))
        (folder / f"{name}.bib").write_bytes(citation.render_bibtex(description))
    run("citation", "python", "-c", _CFF_PROGRAM, str(folder))
    run("citation", "python", "-c", _BIBTEX_PROGRAM, str(folder))
    return folder


def _bibtex(read: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((read / f"{name}.json").read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_their_readers_take_them_and_say_who_when_and_where(read: Path, name: str) -> None:
    apa, bibtex = (read / f"{name}.apa").read_text(), _bibtex(read, name)
    assert "2026" in apa
    assert ALL[name].title in apa
    assert (bibtex["type"], bibtex["year"]) == ("misc", "2026")
    assert bibtex["version"] == ALL[name].version
    assert bibtex["url"] == ALL[name].pid
    assert bibtex["publisher"] == "Example Lab"


@pytest.mark.slow
def test_authors_are_told_apart_whatever_they_are_called(read: Path) -> None:
    people = {name: _bibtex(read, name)["people"] for name in ALL}
    assert people["least"] == []
    assert people["most"] == ["Carberry, Josiah", "Beispiel, Ada"]
    assert people["odd"] == [
        "Carberry, Josiah",
        "{Simon and Garfunkel}",
        "{Ä, B, C}",
        r"{Team \textbraceleft{}A\textbraceright{}}",
    ]
    assert _bibtex(read, "withdrawn")["note"] == "Withdrawn on 2026-04-02"
    assert _bibtex(read, "most")["doi"] == "10.5072/galaxy-cnn.v2"
    assert _bibtex(read, "most")["key"] == "lab-galaxy-cnn-v2"


@pytest.mark.parametrize("name", EVERY)
def test_the_citation_file_agrees_with_the_description(name: str) -> None:
    description, document = EVERY[name], citation.document(EVERY[name])
    assert document["title"] == description.title
    assert document["version"] == description.version
    assert document["commit"] == description.oid
    assert document["date-released"] == "2026-03-01"
    assert document["type"] == ("dataset" if description.kind == "dataset" else "software")
    values = [one["value"] for one in document["identifiers"]]
    assert description.pid in values
    assert description.swhid in values


def test_people_keep_what_is_known_of_them() -> None:
    first, second = citation.document(MOST)["authors"]
    assert first == {
        "family-names": "Carberry",
        "given-names": "Josiah",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
        "affiliation": "Brown University",
    }
    assert second["email"] == "ada@example.org"
    authors = citation.document(_ODD)["authors"]
    assert authors[0] == {"family-names": "Carberry", "given-names": "Josiah"}
    assert citation.document(_ODD)["contact"] == [{"email": "lab@example.org"}]
    assert authors[3] == {"name": "Team {A}", "website": "https://ror.org/05dxps055"}


def test_what_is_absent_is_not_mentioned() -> None:
    document = citation.document(LEAST)
    assert not document.keys() & {"abstract", "license", "license-url", "doi", "keywords"}
    assert document["authors"] == [{"name": "anonymous"}]
    assert not citation.bibtex_fields(LEAST).keys() & {"author", "doi", "note"}


def test_licences_that_the_format_does_not_list_are_linked() -> None:
    assert citation.document(DATASET)["license"] == "CC-BY-4.0"
    odd = citation.document(_ODD)
    assert odd["license-url"] == "https://spdx.org/licenses/MIT"
    assert "license" not in odd
    uris = ("https://spdx.org/licenses/MIT", "https://spdx.org/licenses/Apache-2.0")
    choice = License(expression="MIT OR Apache-2.0", uris=uris)
    assert citation.document(replace(LEAST, license=choice))["license"] == ["MIT", "Apache-2.0"]
    both = License(expression="MIT AND Apache-2.0", uris=uris)
    assert "license" not in citation.document(replace(LEAST, license=both))


def test_values_that_would_make_the_file_invalid_stay_out() -> None:
    odd = Agent(name="A", email="no address", url="javascript:alert(1)", affiliations=())
    there = Agent(name="B", affiliations=(Organization(name="X"), Organization(name="Y")))
    document = citation.document(
        replace(LEAST, creators=(odd, there), doi="https://doi.org/10.5072/a<b>")
    )
    assert document["authors"][0] == {"family-names": "A"}
    assert document["authors"][1]["affiliation"] == "X; Y"
    assert "doi" not in document


@given(st.text(min_size=1), st.text(min_size=1))
def test_texts_of_strangers_come_back_from_yaml(title: str, name: str) -> None:
    odd = replace(LEAST, title=title, creators=(Agent(name=name, kind="organization"),))
    document = yaml.safe_load(citation.render_cff(odd))
    assert document["title"] == title
    assert document["authors"][0]["name"] == name


@pytest.mark.parametrize("version", ["12345e6789", "0o17", "1:30", "no", "1_000", "v1 # 2", "~"])
def test_a_version_stays_a_text_for_readers_of_either_yaml(version: str) -> None:
    odd = replace(LEAST, version=version)
    assert yaml.safe_load(citation.render_cff(odd))["version"] == version
    # The hub's reader of cards knows YAML 1.2's scalars.
    assert parse(b"---\n%b---\n" % citation.render_cff(odd)).values["version"] == version


@given(st.text())
def test_no_text_ends_a_bibtex_field_or_comments_out_its_rest(text: str) -> None:
    value = citation.bibtex_fields(replace(LEAST, title=text, version="v1"))["title"]
    depth = [0]
    for character in value:
        depth.append(depth[-1] + {"{": 1, "}": -1}.get(character, 0))
    assert depth[-1] == 0
    assert min(depth[1:-1]) >= 1
    assert "\n" not in value
    assert value.count("%") == value.count("\\%") == text.count("%")


def test_the_same_description_gives_the_same_bytes() -> None:
    for render in (citation.render_cff, citation.render_bibtex, modelindex.render):
        assert render(WITHDRAWN) == render(replace(WITHDRAWN))
