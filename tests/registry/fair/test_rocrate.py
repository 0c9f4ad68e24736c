"""RO-Crate 1.3, judged by the official validator, required and recommended alike."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.crate import rocrate
from registry.fair.crate.graph import NO_LICENSE
from registry.fair.description import Description
from registry.fair.parts import (
    Agent,
    DatasetUse,
    DerivationDescription,
    Funding,
    License,
    Organization,
    Reference,
)
from tests.registry.fair.samples import EVERY, LANDING, LEAST, MOST, OID, URL, file_of
from tests.validators.environments import run

_JUDGE = Path(__file__).resolve().parents[2] / "validators/rocrate_check.py"
#: What is rarely there, and what a registry does not know.
ODD = replace(
    MOST,
    hub=replace(MOST.hub, publisher=Organization(name="One of us")),
    creators=(
        Agent(name="Uni", orcid="https://orcid.org/0000-0002-1825-0097"),
        Agent(name="Some\nbody", affiliations=(Organization(name="Garage"),)),
        Agent(name="A Lab", kind="organization", ror="https://ror.org/05dxps055"),
    ),
    funding=(Funding(funder=Organization(name="A friend"), award="7"),),
    license=License(expression="LicenseRef-own", uris=(), name="Our own"),
    files=(
        *MOST.files,
        file_of("a folder/ünï 𝒳#1?.txt", "text/plain; charset=utf-8", "other"),
        file_of("a:b.txt", "text/plain", "other"),
        replace(file_of("ö.txt", "text/plain", "other"), url=f"{URL}/%C3%B6%C2%A0.txt"),
        file_of(rocrate.DESCRIPTOR, "application/json", "other"),
        file_of("ro-crate-preview.html", "text/html", "other"),
    ),
    papers=(Reference(url="javascript:alert(1)"), Reference(url="https://example.org/a b|ü")),
    code=Reference(url="no address"),
    derived_from=(
        DerivationDescription(relation="merge", source="<b>elsewhere</b>", url="no address"),
    ),
    datasets=(*MOST.datasets, DatasetUse(name="seen in passing", role="mentioned")),
)


def _by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["@id"]: one for one in document["@graph"]}


def _root(description: Description) -> dict[str, Any]:
    return _by_id(rocrate.document(description))[description.pid]


def _folder(folder: Path, description: Description) -> Path:
    """Files of the version's names, with their descriptor."""
    for file in description.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<!doctype html>")
    (folder / rocrate.DESCRIPTOR).write_bytes(rocrate.render_with_files(description))
    return folder


@pytest.mark.slow
def test_the_official_validator_finds_nothing_required_or_recommended(tmp_path: Path) -> None:
    paths = []
    # What was withdrawn, and the odd one below, say all that "most" says.
    for name in ("least", "withdrawn", "dataset"):
        paths.append(tmp_path / f"{name}-{rocrate.DESCRIPTOR}")
        paths[-1].write_bytes(rocrate.render(EVERY[name]))
    paths.append(_folder(tmp_path / "odd", ODD))
    said = run("rocrate", "python", str(_JUDGE), *map(str, paths), HOME=str(tmp_path))
    found = json.loads(said.splitlines()[-1])
    # The one recommendation that a record cannot heed: its publisher is nowhere registered.
    (unheeded,) = found.pop(str(paths.pop()))
    assert "SHOULD have a ROR identifier" in unheeded
    assert found == {str(path): [] for path in paths}


@pytest.mark.parametrize("name", EVERY)
def test_shared_fields_agree_with_the_description(name: str) -> None:
    one = EVERY[name]
    root = _root(one)
    assert root["name"] == one.title
    assert root["version"] == one.version
    assert root["url"] == one.landing
    assert root["cite-as"] == {"@id": one.pid}
    assert root["datePublished"] == one.published.isoformat()
    statuses = {"public": "Published", "withdrawn": "Withdrawn"}
    assert root["creativeWorkStatus"] == statuses[one.status]
    entities = _by_id(rocrate.document(one))
    assert entities["#ark"]["value"] == one.pid
    assert entities["#swh"]["value"] == one.swhid
    for file in one.files:
        entity = entities[file.url]
        assert entity["sha256"] == file.sha256
        assert entity["contentSize"] == str(file.size_bytes)
        assert entity["encodingFormat"] == file.media_type


def test_people_stand_with_their_identifiers() -> None:
    entities = _by_id(rocrate.document(MOST))
    carberry, other = MOST.creators
    assert entities[carberry.orcid or ""]["@type"] == "Person"
    assert entities[carberry.orcid or ""]["affiliation"] == {"@id": "https://ror.org/05gq02987"}
    (unregistered,) = [
        one
        for one in entities.values()
        if one["@type"] == ["Thing", "prov:Person"] and one["name"] == other.name
    ]
    assert unregistered["email"] == other.email
    root = entities[MOST.pid]
    assert root["maintainer"]["@id"] == unregistered["@id"]
    assert [one["@id"] for one in root["creator"]] == [carberry.orcid, unregistered["@id"]]
    assert root["funder"] == {"@id": "https://ror.org/00k4n6c32"}


def test_every_activity_is_an_action_with_its_tools_and_what_it_used_and_made() -> None:
    entities = _by_id(rocrate.document(MOST))
    for activity in MOST.activities:
        action = entities[activity.url]
        assert action["@type"] == "CreateAction"
        ended = activity.ended and activity.ended.isoformat()
        assert action.get("endTime") == ended
        assert action["result"] == {"@id": activity.generated[0]}
    publish, tune = MOST.activities[:2]
    assert entities[publish.url]["agent"] == {"@id": MOST.creators[0].orcid}
    tools = [one["@id"] for one in entities[tune.url]["instrument"]]
    assert tools == [one.purl for one in tune.tools]
    used = [entities[one["@id"]] for one in entities[tune.url]["object"]]
    assert entities[MOST.pid] in used
    values = {one["name"]: one.get("value") for one in used}
    assert (values["seed"], values["target"]) == (0, "x86-64-avx512vnni")
    (around,) = [one for one in used if one["name"] == "Environment"]
    facts = {
        entities[one["@id"]]["name"]: entities[one["@id"]]["value"]
        for one in around["additionalProperty"]
    }
    assert facts == {"device": "bench-1", "os": "Example Linux 1", "cores": 2}


def test_a_build_stands_with_its_files_figures_and_record() -> None:
    entities = _by_id(rocrate.document(MOST))
    (build,) = MOST.builds
    entity = entities[build.url]
    assert entity["associatedMedia"] == {"@id": build.files[0].url}
    assert entity["isBasedOn"] == {"@id": MOST.pid}
    record = entities[entity["subjectOf"]["@id"]]
    values = {
        entities[one["@id"]]["name"]: entities[one["@id"]]["value"]
        for one in [*record["additionalProperty"], *entity["additionalProperty"]]
    }
    assert values["latency p50"] == build.benchmark.p50_ns
    assert values["latency p99"] == build.benchmark.p99_ns
    assert values["peak memory"] == build.benchmark.peak_memory_bytes
    assert values["energy of a run"] == 0.0425
    assert values["time over that of onnxruntime defaults"] == build.benchmark.ratio
    assert values["reproduced"] is True
    assert values["precision"] == "int8"


def test_hardware_safety_and_what_others_measured_are_mentioned() -> None:
    entities = _by_id(rocrate.document(MOST))
    mentioned = {entities[one["@id"]]["name"] for one in entities[MOST.pid]["mentions"]}
    (again,) = MOST.repetitions
    assert {"Tuned on x86-64-avx512vnni", "Safety scan"} <= mentioned
    assert entities[again.url]["description"].endswith("by: third party.")


def test_in_a_folder_files_go_by_their_paths_and_the_root_is_the_folder() -> None:
    entities = _by_id(rocrate.document(ODD, with_files=True))
    assert entities["./"]["cite-as"] == ODD.pid
    assert "README.md" in entities
    assert "a%20folder/ünï%20𝒳%231%3F.txt" in entities
    assert "a%3Ab.txt" in entities
    own = f"{LANDING}/resolve/{OID}/{rocrate.DESCRIPTOR}"
    assert entities[own]["@type"] == "File"
    assert entities[rocrate.DESCRIPTOR]["about"] == {"@id": "./"}
    (build,) = ODD.builds
    (test,) = ODD.tests
    assert {build.files[0].url, test.url} <= entities.keys()
    assert not any("preview" in identity for identity in entities)
    among_files = rocrate.document(replace(ODD, tests=ODD.files[:1]), with_files=True)
    assert ODD.files[0].url not in _by_id(among_files)


def test_what_is_no_address_is_no_reference_and_letters_stay_letters() -> None:
    entities = _by_id(rocrate.document(ODD))
    root = entities[ODD.pid]
    assert root["citation"] == {"@id": "https://example.org/a%20b%7Cü"}
    assert "codeRepository" not in root
    assert entities[root["isBasedOn"]["@id"]]["name"] == "<b>elsewhere</b>"
    assert "url" not in entities[root["isBasedOn"]["@id"]]
    assert entities[f"{URL}/ö%C2%A0.txt"]["contentUrl"] == f"{URL}/%C3%B6%C2%A0.txt"


def test_what_is_absent_stays_absent_and_no_licence_is_said_in_the_standards_word() -> None:
    root = _root(LEAST)
    assert root["license"] == {"@id": NO_LICENSE}
    assert LEAST.repository in root["description"]
    absent = {
        "creator",
        "contributor",
        "funding",
        "isBasedOn",
        "keywords",
        "mentions",
        "variableMeasured",
    }
    assert root.keys().isdisjoint(absent)


def test_a_withdrawn_version_says_so() -> None:
    withdrawn = EVERY["withdrawn"]
    root = _root(withdrawn)
    assert withdrawn.withdrawal is not None
    assert root["creativeWorkStatus"] == "Withdrawn"
    assert root["expires"] == withdrawn.withdrawal.at.isoformat()
    assert root["isAccessibleForFree"] is False


@pytest.mark.parametrize("name", EVERY)
def test_every_reference_leads_to_an_entity(name: str) -> None:
    document = rocrate.document(EVERY[name], with_files=True)
    entities = _by_id(document)
    assert len(entities) == len(document["@graph"])
    outside = {rocrate.VERSION}
    for entity in entities.values():
        for value in entity.values():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    assert one["@id"] in entities.keys() | outside


def test_the_same_description_gives_the_same_bytes() -> None:
    assert rocrate.render(MOST) == rocrate.render(replace(MOST))
    assert rocrate.render_with_files(MOST) == rocrate.render_with_files(replace(MOST))


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_text_of_strangers_survives(text: str) -> None:
    given_one = replace(MOST, title=text, ethics=text, creators=(Agent(name=text),))
    entities = {one["@id"]: one for one in json.loads(rocrate.render(given_one))["@graph"]}
    root = entities[MOST.pid]
    assert root["name"] == root["ethicalSocial"] == text
    assert entities[root["creator"]["@id"]]["name"] == text
