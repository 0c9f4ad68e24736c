import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, Literal, URIRef

from registry.fair.description import Description
from registry.fair.linked.context import HUB_TERMS, NAMESPACES
from registry.fair.linked.jsonld import document, embedded, render
from registry.fair.linked.term import DERIVATIONS
from registry.fair.linked.terms import TERMS
from registry.fair.linked.turtle import graph
from registry.fair.parts import Agent, DerivationDescription, FileDescription, License, RelationName
from registry.fair.score.fairsfair import FAIRSFAIR
from registry.fair.score.harvest import expected
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, PID, WITHDRAWN, file_of

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
FSF_LICENSE = next(one for one in FAIRSFAIR if one.id == "FsF-R1.1-01M")
HOSTILE = '</script><script>alert("1")</script>\u2028& \\" \n\t\U0001f30c \x00'


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys with their values, however deep, without those of the context."""
    if isinstance(value, list):
        for item in value:
            yield from walk(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key != "@context":
                yield key, item
                yield from walk(item)


def values(description: Description, key: str) -> list[Any]:
    return [value for found, value in walk(document(description)) if found == key]


@every
def test_the_bytes_are_the_document(description: Description) -> None:
    assert json.loads(render(description)) == document(description)
    assert render(description) == render(replace(description))


@every
def test_the_context_is_inline(description: Description) -> None:
    context = document(description)["@context"]
    assert isinstance(context, dict)
    assert context["@vocab"] == "http://schema.org/"


@every
def test_shared_fields_agree_with_the_description(description: Description) -> None:
    record = document(description)
    assert record["@id"] == description.pid
    assert record["identifier"][:2] == [description.pid, description.landing]
    assert record["name"] == record["dct:title"] == description.title
    assert record.get("description") == description.description
    assert record["version"] == description.version
    assert record.get("keywords", []) == list(description.keywords)
    assert record.get("inLanguage", []) == list(description.languages)
    assert [one["name"] for one in record.get("creator", [])] == [
        one.name for one in description.creators
    ]
    assert record.get("license", []) == (
        list(description.license.uris) if description.license else []
    )
    assert [
        (
            one["name"],
            one.get("contentUrl"),
            one["contentSize"],
            one["sha256"],
            one["encodingFormat"],
        )
        for one in record["distribution"]
    ] == [
        (one.path, one.content_url, str(one.size_bytes), one.sha256, one.media_type)
        for one in description.files
    ]
    assert record["dct:isVersionOf"]["@id"] == description.concept_pid
    assert record["doc:persistencePolicy"] == {"@id": description.hub.policy_url}


@every
def test_nothing_is_said_of_what_is_absent(description: Description) -> None:
    said = [value for key, value in walk(document(description)) if key != "@list"]
    assert not [value for value in said if value in (None, "", [], {})]


def test_of_a_repository_just_made_only_what_the_hub_knows_is_said() -> None:
    record = document(LEAST)
    asked = {"description", "creator", "license", "keywords", "inLanguage", "fair4ml:mlTask"}
    assert not asked & record.keys()
    assert record["dct:conformsTo"] == [{"@id": LEAST.hub.core_shape_url}]
    assert record["fair4ml:sharedBy"]["name"] == "lab"


def test_a_licence_without_an_address_has_its_name() -> None:
    own = License(expression="LicenseRef-lab", uris=())
    assert document(replace(LEAST, license=own))["license"] == [
        {"@type": "CreativeWork", "name": "LicenseRef-lab"}
    ]
    named = document(replace(LEAST, license=replace(own, name="The lab's")))
    assert named["license"][0]["name"] == "The lab's"
    assert FSF_LICENSE.check(expected(replace(LEAST, license=own))).points == 1


def test_a_complete_record_claims_the_shape_it_conforms_to() -> None:
    core = {"@id": f"{MOST.hub.url}/shapes/core"}
    assert document(MOST)["dct:conformsTo"] == [{"@id": MOST.hub.shape_url}, core]
    assert document(LEAST)["dct:conformsTo"] == [core]


def test_models_and_data_sets_have_their_types() -> None:
    assert document(MOST)["@type"] == ["fair4ml:MLModel", "Dataset"]
    assert "fair4ml:MLModel" not in document(DATASET)["@type"]


def test_identifiers_of_persons_and_institutions_are_the_names_of_their_nodes() -> None:
    creator = document(MOST)["creator"][0]
    assert creator["@id"] == "https://orcid.org/0000-0002-1825-0097"
    assert creator["affiliation"][0]["@id"] == "https://ror.org/05gq02987"
    assert document(MOST)["funding"][0]["funder"]["@id"] == "https://ror.org/00k4n6c32"


def test_whoever_has_no_identifier_is_the_same_wherever_they_are_spoken_of() -> None:
    record = document(MOST)
    assert record["maintainer"] == record["creator"][1]
    assert record["maintainer"]["@id"].startswith("_:")


def test_roles_stand_between_the_work_and_the_person() -> None:
    roles = [one for one in document(MOST)["contributor"] if one["@type"] == "Role"]
    assert [(one["contributor"]["name"], one["roleName"]) for one in roles] == [
        ("Josiah Carberry", ["Software", "Methodology"]),
        ("Grace Helper", ["Data curation"]),
    ]


def test_a_withdrawn_version_says_so_when_and_why() -> None:
    record = document(WITHDRAWN)
    assert record["creativeWorkStatus"] == "Withdrawn"
    assert record["prov:invalidatedAtTime"] == "2026-04-02T08:30:00+00:00"
    assert record["hub:withdrawalReason"] == "Superseded; found to be wrong."
    assert record["dct:accessRights"]["@id"].endswith("c_14cb")
    offers = {"encoding", "isAccessibleForFree", "hub:fairScore", "codemeta:readme"}
    offers.add("fair4ml:codeSampleSnippet")
    assert record.keys() == document(MOST).keys() - offers | {
        "prov:invalidatedAtTime",
        "hub:withdrawalReason",
    }


@pytest.mark.parametrize("relation", DERIVATIONS)
def test_each_relation_is_a_derivation_with_a_property_of_its_own(relation: RelationName) -> None:
    source = DerivationDescription(
        relation=relation, source="lab/base", pid="https://example.org/base"
    )
    record = document(replace(LEAST, derived_from=(source,)))
    link = [{"@id": "https://example.org/base"}]
    named = [{"@id": one["@id"]} for one in record[DERIVATIONS[relation]]]
    assert named == record["isBasedOn"] == link
    assert record["prov:wasDerivedFrom"][0]["name"] == "lab/base"


def test_a_source_without_address_is_named_all_the_same() -> None:
    source = DerivationDescription(relation="merge", source="elsewhere")
    record = document(replace(LEAST, derived_from=(source,)))
    assert record["prov:wasDerivedFrom"][0]["name"] == "elsewhere"
    assert record["hub:mergedFrom"] == [{"@id": record["prov:wasDerivedFrom"][0]["@id"]}]


def test_activities_tell_inputs_outputs_tools_and_times() -> None:
    tuning = document(MOST)["hub:hasActivity"][1]
    assert tuning["@type"] == ["prov:Activity", "hub:Tuning"]
    assert tuning["prov:used"] == [{"@id": PID}]
    assert tuning["prov:generated"] == [{"@id": MOST.builds[0].url}]
    assert tuning["prov:endedAtTime"] > tuning["prov:startedAtTime"]
    assert [one["softwareVersion"] for one in tuning["prov:wasAssociatedWith"]] == [
        "2026.4.1",
        "1.31.1",
    ]
    (build,) = document(MOST)["hub:hasBuild"]
    assert build["prov:wasGeneratedBy"] == [
        {"@id": tuning["@id"]}, {"@id": MOST.activities[2].url}
    ]  # fmt: skip
    made_by = [one["@id"] for one in document(MOST)["prov:wasGeneratedBy"]]
    assert made_by == [MOST.activities[0].url, MOST.activities[-1].url]


def test_activities_tell_where_they_ran_by_which_seed_and_as_part_of_what() -> None:
    _, tuning, making, measuring, training = document(MOST)["hub:hasActivity"]
    assert {"@type": "PropertyValue", "name": "device", "value": "bench-1"} in (
        tuning["hub:environment"]["additionalProperty"]
    )
    assert (tuning["hub:seed"], making["hub:seed"]) == (0, 0)
    assert making["dct:isPartOf"] == measuring["dct:isPartOf"] == {"@id": tuning["@id"]}
    packages = making["hub:environment"]["softwareRequirements"]
    assert [one["name"] for one in packages] == ["onnxruntime", "openvino"]
    assert measuring["hub:environment"] == {"@id": making["hub:environment"]["@id"]}
    assert training["@type"][1] == "hub:Training"
    assert not {"prov:startedAtTime", "prov:endedAtTime"} & training.keys()


def test_a_measurement_tells_quantiles_throughput_memory_and_energy() -> None:
    run = document(MOST)["hub:hasBuild"][0]["hub:hasBenchmark"]
    times = {one["name"]: one["value"] for one in run["hub:timeStatistic"]}
    assert times == {
        "mean": 1_240_000.5,
        "p90": 1_300_000.0,
        "p95": 1_350_000.0,
        "p99": 1_500_000.0,
    }
    assert (run["hub:sampleCount"], run["hub:throughput"]["value"]) == (1200, 806.45)
    assert run["hub:peakMemory"] == {
        "@type": "QuantitativeValue", "value": 96_468_992, "unitCode": "AD"
    }  # fmt: skip
    assert (run["hub:energy"]["value"], run["hub:energy"]["unitCode"]) == (0.0425, "JOU")
    assert run["prov:wasGeneratedBy"] == [{"@id": MOST.activities[3].url}]


def test_own_figures_are_told_from_those_of_others() -> None:
    record = document(MOST)
    assert record["hub:activitiesOmitted"] == 7
    who = [one["hub:assessor"] for one in record["fair4ml:hasEvaluation"]]
    assert who == ["author", "third party", "hub"]
    extrinsic = [one.get("fair4ml:extrinsicEvaluation") for one in record["fair4ml:hasEvaluation"]]
    assert extrinsic == [None, None, None]
    (again,) = record["hub:hasRepetition"]
    assert again["hub:assessor"] == "third party"
    assert again["hub:repeats"] == {"@id": MOST.builds[0].benchmark.url}


def test_hardware_safety_and_what_must_be_installed_are_told() -> None:
    needed = file_of("requirements.txt", "text/plain", "environment")
    record = document(replace(MOST, files=(*MOST.files, needed)))
    (target,) = record["hub:tunedOn"]
    assert (target["name"], target["@type"]) == ("x86-64-avx512vnni", "hub:Target")
    assert record["hub:scan"]["hub:isAccepted"] is True
    assert record["hub:scan"]["hub:finding"] == ["old.onnx was not read."]
    assert record["hub:environment"] == [{"@id": needed.url}]


def test_tensors_have_name_type_and_shape_in_order() -> None:
    (tensor,) = document(MOST)["hub:hasInput"]
    assert tensor["hub:dataType"] == "float32"
    assert tensor["hub:shape"] == {"@list": ["N", 3, 64, 64]}


def test_numbers_that_json_lacks_are_said_as_xml_schema_does() -> None:
    build = replace(MOST.builds[0], deviation={"max_rel": float("inf"), "mean": float("nan")})
    record = document(replace(MOST, builds=(build,)))
    found = [one["value"]["@value"] for one in record["hub:hasBuild"][0]["hub:deviation"]]
    assert found == ["INF", "NaN"]
    assert b"Infinity" not in render(replace(MOST, builds=(build,)))


def test_zero_and_no_are_facts() -> None:
    build = replace(MOST.builds[0], accuracy=0.0, reproduced=False)
    (said,) = document(replace(MOST, builds=(build,)))["hub:hasBuild"]
    assert (said["hub:accuracy"], said["hub:reproduced"]) == (0.0, False)


@every
def test_each_term_of_ours_is_declared(description: Description) -> None:
    words = graph(document(description))
    used = {str(one) for triple in words for one in triple if str(one).startswith(HUB_TERMS)}
    assert used <= {f"{HUB_TERMS}{term.name}" for term in TERMS}


@every
def test_all_that_is_written_is_linked_data(description: Description) -> None:
    triples = graph(document(description))
    properties = {key for key, _ in walk(document(description)) if not key.startswith("@")}
    found = {str(one) for one in triples.predicates()}
    for name in properties:
        prefix, _, local = name.rpartition(":")
        assert NAMESPACES[prefix or "schema"] + local in found, name


def test_script_cannot_leave_the_page_it_is_embedded_in() -> None:
    hostile = replace(MOST, title=HOSTILE, unknown={HOSTILE: HOSTILE})
    text = embedded(hostile)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == document(hostile)


TEXTS = st.text(min_size=1)


@settings(max_examples=30, deadline=None)
@given(title=TEXTS, name=TEXTS, key=TEXTS, path=TEXTS, url=st.text())
def test_texts_of_strangers_come_through(
    title: str, name: str, key: str, path: str, url: str
) -> None:
    file = FileDescription(
        path=path, url=url, size_bytes=1, sha256="0" * 64, media_type="text/plain"
    )
    hostile = replace(
        LEAST,
        title=title,
        creators=(Agent(name=name, orcid=url),),
        unknown={key: {"nested": [name]}},
        files=(file,),
    )
    record = json.loads(render(hostile))
    assert record["name"] == title
    assert record["creator"][0]["name"] == name
    assert record["hub:cardField"][0]["name"] == key
    assert json.loads(record["hub:cardField"][0]["value"]) == {"nested": [name]}
    assert record["distribution"][0]["name"] == path
    triples: Graph = graph(record)
    assert (URIRef(PID), URIRef("http://schema.org/name"), Literal(title)) in triples
