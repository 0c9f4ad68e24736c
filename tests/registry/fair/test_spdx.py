"""SPDX 3.0.1: its own model takes the document, and it says what the description says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.bom import spdx
from registry.fair.description import Description
from registry.fair.parts import License
from tests.registry.fair.hostile import TEXT, hostile
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, WITHDRAWN
from tests.validators.environments import run

# Reading checks names and types; only writing checks what must not be missing.
_VALIDATE = """
import json, sys
from pathlib import Path
import spdx_python_model
missing = {}
for path in sys.argv[1:]:
    model, objects = spdx_python_model.load(Path(path))
    model.JSONLDSerializer().serialize_data(objects)
    missing[path] = sorted(objects.missing_ids)
print(json.dumps(missing))
"""
#: The model demands these in its prose ("External properties restrictions"), not in its schema.
_DEMANDED = {
    "ai_AIPackage": {
        "name",
        "releaseTime",
        "suppliedBy",
        "software_downloadLocation",
        "software_packageVersion",
        "software_primaryPurpose",
    },
    "dataset_DatasetPackage": {
        "name",
        "builtTime",
        "originatedBy",
        "releaseTime",
        "software_downloadLocation",
        "software_primaryPurpose",
        "dataset_datasetType",
    },
}


def _elements(description: Description) -> dict[str, dict[str, Any]]:
    graph = spdx.document(description)["@graph"]
    return {one["spdxId"]: one for one in graph if "spdxId" in one}


def _of(description: Description, kind: str) -> list[dict[str, Any]]:
    return [one for one in _elements(description).values() if one["type"] == kind]


def _related(description: Description, source: str, kind: str) -> list[dict[str, Any]]:
    elements = _elements(description)
    return [
        elements[target]
        for one in _of(description, "Relationship")
        if one["from"] == source and one["relationshipType"] == kind
        for target in one["to"]
    ]


def _entries(element: dict[str, Any], key: str) -> dict[str, str]:
    return {one["key"]: one["value"] for one in element[key]}


@pytest.mark.slow
def test_the_official_model_takes_every_document(tmp_path: Path) -> None:
    paths = {}
    for name, description in (EVERY | {"hostile": hostile()}).items():
        paths[name] = tmp_path / f"{name}.spdx3.json"
        paths[name].write_bytes(spdx.render(description))

    missing = json.loads(run("bom", "python", "-c", _VALIDATE, *map(str, paths.values())))

    assert missing == {str(path): [] for path in paths.values()}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["software_primaryPurpose", "suppliedBy"])
def test_the_official_model_refuses_unlisted_words_and_wrong_references(
    tmp_path: Path, key: str
) -> None:
    document = spdx.document(LEAST)
    [package] = [one for one in document["@graph"] if one["type"] == "ai_AIPackage"]
    wrong = {"software_primaryPurpose": "amusement", "suppliedBy": document["@graph"][-1]["spdxId"]}
    package[key] = wrong[key]
    path = tmp_path / "wrong.spdx3.json"
    path.write_text(json.dumps(document))

    with pytest.raises(AssertionError, match=r"amusement|Got SpdxDocument"):
        run("bom", "python", "-c", _VALIDATE, str(path))


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY)
def test_every_package_has_what_its_profile_demands(description: Description) -> None:
    packages = [one for one in _elements(description).values() if one["type"] in _DEMANDED]

    assert packages
    for package in packages:
        assert package.keys() >= _DEMANDED[package["type"]]


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY)
def test_a_document_names_the_version(description: Description) -> None:
    package = _elements(description)[description.pid]
    identifiers = {one["identifier"] for one in package["externalIdentifier"]}

    assert package["name"] == description.title
    assert package["software_packageVersion"] == description.version
    assert package["software_homePage"] == description.landing
    assert package["releaseTime"] == "2026-03-01T12:00:05Z"
    assert identifiers >= {description.swhid, description.swhid_revision, description.concept_pid}
    [supplier] = [_elements(description)[package["suppliedBy"]]]
    assert supplier["name"] == description.owner.name


@pytest.mark.parametrize("description", EVERY.values(), ids=EVERY)
def test_identifiers_are_unique_and_all_elements_belong_to_the_document(
    description: Description,
) -> None:
    graph = spdx.document(description)["@graph"]
    ids = [one["spdxId"] for one in graph if "spdxId" in one]
    [document] = _of(description, "SpdxDocument")
    [bill] = _of(description, "software_Sbom")

    assert len(ids) == len(set(ids))
    assert document["rootElement"] == [bill["spdxId"]]
    assert bill["rootElement"] == [description.pid]
    assert set(document["element"]) == set(ids) - {document["spdxId"]}


def test_the_profiles_are_those_that_are_used() -> None:
    def profiles(description: Description) -> set[str]:
        return set(_of(description, "SpdxDocument")[0]["profileConformance"])

    assert profiles(LEAST) == {"core", "software", "ai", "simpleLicensing"}
    assert profiles(MOST) == {"core", "software", "ai", "simpleLicensing", "build"}
    assert profiles(DATASET) == {"core", "software", "dataset", "simpleLicensing"}


def test_the_model_says_what_it_is_for() -> None:
    package = _elements(MOST)[MOST.pid]

    assert package["ai_domain"] == ["image-classification"]
    assert package["ai_typeOfModel"] == ["residual-cnn", "GalaxyNet"]
    assert package["ai_limitation"] == MOST.limitations
    assert f"Intended use: {MOST.intended_use}" in package["ai_informationAboutApplication"]
    assert f"Out of scope: {MOST.out_of_scope}" in package["ai_informationAboutApplication"]
    assert "CO2e in kilograms: 0.12" in package["ai_informationAboutTraining"]
    assert _entries(package, "ai_hyperparameter")["parameters"] == "1228074"
    assert _entries(package, "ai_metric")["accuracy (galaxy-zoo, test)"] == "0.981"


def test_people_are_named_with_their_orcid() -> None:
    people = [one for one in _of(MOST, "Person") if one["name"] == "Josiah Carberry"]

    assert [one["identifier"] for one in people[0]["externalIdentifier"]] == [
        "https://orcid.org/0000-0002-1825-0097"
    ]
    assert len(people) == 1


def test_the_declared_license_is_an_expression() -> None:
    [license] = _related(MOST, MOST.pid, "hasDeclaredLicense")

    assert license["simplelicensing_licenseExpression"] == "Apache-2.0"


def test_a_license_of_ones_own_keeps_its_address() -> None:
    own = License(expression="LicenseRef-own", uris=("https://a.example/terms",), name="Own")
    [license] = _related(replace(LEAST, license=own), LEAST.pid, "hasDeclaredLicense")

    assert license["name"] == "Own"
    assert _entries(license, "simplelicensing_customIdToUri") == {
        "LicenseRef-own": "https://a.example/terms"
    }


def test_files_are_contained_with_their_digests() -> None:
    contained = _related(MOST, MOST.pid, "contains")
    tests = _related(MOST, MOST.pid, "hasTest")

    assert {one["name"]: one["verifiedUsing"][0]["hashValue"] for one in contained} == {
        file.path: file.sha256 for file in MOST.files
    }
    assert [one["name"] for one in tests] == [file.path for file in MOST.tests]


def test_data_sets_and_sources_are_related_by_what_they_served_for() -> None:
    [trained] = _related(MOST, MOST.pid, "trainedOn")
    [tested] = _related(MOST, MOST.pid, "testedOn")
    [source] = _related(MOST, MOST.pid, "descendantOf")

    assert trained["name"] == "lab/galaxies"
    assert tested["software_homePage"] == "https://doi.org/10.5072/zoo"
    assert source["externalIdentifier"][0]["identifier"] == MOST.derived_from[0].pid


def test_an_activity_tells_what_went_in_what_came_out_and_with_which_tools() -> None:
    [tune] = [one for one in _of(MOST, "build_Build") if one["build_buildType"].endswith("#Tuning")]
    spdx_id = tune["spdxId"]

    assert tune["build_buildId"] == MOST.activities[1].url
    assert tune["build_buildStartTime"] == "2026-03-01T12:00:05Z"
    assert _entries(tune, "build_parameter") == {"seed": "0", "strategy": "learned"}
    assert [one["spdxId"] for one in _related(MOST, spdx_id, "hasInput")] == [MOST.pid]
    [result] = _related(MOST, spdx_id, "hasOutput")
    assert _entries(result, "ai_metric")["latency p50 in nanoseconds"] == "1234567"
    tools = {one["name"] for one in _related(MOST, spdx_id, "usesTool")}
    assert tools == {"openvino 2026.4.1", "onnxruntime 1.31.1"}
    assert _entries(tune, "build_environment")["device"] == "bench-1"
    # One element for each, however many activities used it.
    assert len(_of(MOST, "Tool")) == 2


def test_a_build_tells_quantiles_throughput_memory_and_energy() -> None:
    [result] = [one for one in _of(MOST, "ai_AIPackage") if one["spdxId"] != MOST.pid]
    metrics = _entries(result, "ai_metric")

    assert metrics["latency p99 in nanoseconds"] == "1500000"
    assert metrics["peak memory in bytes"] == "96468992"
    [energy] = result["ai_energyConsumption"]["ai_inferenceEnergyConsumption"]
    assert (energy["ai_energyQuantity"], energy["ai_energyUnit"]) == ("0.0000000425", "megajoule")
    own = _entries(_elements(MOST)[MOST.pid], "ai_metric")
    assert own["f1 (galaxy-zoo, by a third party)"] == "0.97"
    remarks = [one["statement"] for one in _of(MOST, "Annotation")]
    assert any(one.startswith("Safety scan: accepted on 2026-04-02") for one in remarks)


def test_builds_are_supplied_by_who_runs_the_hub() -> None:
    [result] = [one for one in _of(MOST, "ai_AIPackage") if one["spdxId"] != MOST.pid]

    assert _elements(MOST)[result["suppliedBy"]]["name"] == MOST.hub.publisher.name
    assert [one["spdxId"] for one in _related(MOST, result["spdxId"], "descendantOf")] == [MOST.pid]
    assert [one["name"] for one in _related(MOST, result["spdxId"], "contains")] == ["model.xml"]


def test_what_an_activity_used_elsewhere_is_told_by_its_address() -> None:
    address = "https://elsewhere.example/data"
    fetched = replace(MOST.activities[0], used=(address,))
    [made] = _of(replace(LEAST, activities=(fetched,)), "build_Build")

    assert made["externalRef"][0]["locator"] == [address]


def test_a_data_set_tells_its_size_and_who_made_it() -> None:
    package = _elements(DATASET)[DATASET.pid]

    assert package["type"] == "dataset_DatasetPackage"
    assert package["dataset_datasetSize"] == 10_000
    assert package["dataset_datasetAvailability"] == "directDownload"
    assert _elements(DATASET)[package["originatedBy"][0]]["name"] == "Josiah Carberry"


def test_a_data_set_of_several_people_names_them_all() -> None:
    several = replace(DATASET, creators=MOST.creators)
    package = _elements(several)[several.pid]

    (first,) = package["originatedBy"]
    assert _elements(several)[first]["name"] == MOST.creators[0].name
    assert {one["name"] for one in _related(several, several.pid, "other")} == {
        one.name for one in MOST.creators
    }


def test_a_data_set_of_unknown_people_names_nobody() -> None:
    nobody = replace(DATASET, creators=())
    (first,) = _elements(nobody)[nobody.pid]["originatedBy"]
    assert _elements(nobody)[first]["type"] == "Agent"
    assert _elements(nobody)[first]["name"] == "NOASSERTION"
    assert not _related(nobody, nobody.pid, "other")


def test_what_is_absent_is_not_mentioned() -> None:
    package = _elements(LEAST)[LEAST.pid]

    assert not [key for key in package if key.startswith("ai_")]
    assert not {"summary", "comment", "originatedBy", "validUntilTime"} & package.keys()
    assert not _of(LEAST, "build_Build")
    assert not _of(LEAST, "Person")


def test_a_withdrawn_version_says_until_when_and_why() -> None:
    package = _elements(WITHDRAWN)[WITHDRAWN.pid]

    assert package["validUntilTime"] == "2026-04-02T08:30:00Z"
    assert package["comment"] == "Withdrawn: Superseded; found to be wrong."


def test_what_strangers_type_comes_through_as_they_typed_it() -> None:
    graph = json.loads(spdx.render(hostile()))["@graph"]
    package = next(one for one in graph if one.get("spdxId") == MOST.pid)

    assert package["summary"] == TEXT
    assert package["ai_limitation"] == TEXT


@settings(max_examples=30)
@given(st.text(min_size=1))
def test_any_text_survives(text: str) -> None:
    graph = json.loads(spdx.render(replace(LEAST, description=text)))["@graph"]

    assert next(one for one in graph if one.get("spdxId") == LEAST.pid)["summary"] == text


def test_the_same_description_gives_the_same_bytes() -> None:
    assert spdx.render(MOST) == spdx.render(replace(MOST))
