"""PROV-JSON: what the library of the specification's authors reads, as statements and as RDF."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rdflib import PROV, RDF, Graph

from registry.fair.linked import jsonld, provjson
from registry.fair.linked.turtle import graph
from registry.fair.parts import DerivationDescription
from tests.registry.fair.samples import EVERY, LEAST, MOST, WITHDRAWN
from tests.validators.environments import run

#: Each document is written as RDF, and each again as PROV-JSON.
_PROGRAM = """
import pathlib, sys
from prov.model import ProvDocument
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    read = ProvDocument.deserialize(str(path), format="json")
    assert read == ProvDocument.deserialize(content=read.serialize(format="json"), format="json")
    read.serialize(str(path.with_suffix(".ttl")), format="rdf", rdf_format="turtle")
"""
#: Relations of the record, and their forms with attributes.
_RELATIONS = {
    PROV.used: PROV.qualifiedUsage,
    PROV.wasDerivedFrom: PROV.qualifiedDerivation,
    PROV.wasGeneratedBy: PROV.qualifiedGeneration,
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    """What the library reads in the document of each sample."""
    folder: Path = tmp_path_factory.mktemp("provenance")
    for name, description in EVERY.items():
        (folder / f"{name}.json").write_bytes(provjson.render(description))
    run("provenance", "python", "-W", "ignore", "-c", _PROGRAM, str(folder))
    return {name: Graph().parse(folder / f"{name}.ttl") for name in EVERY}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_the_library_reads_what_the_canonical_record_says(
    read: dict[str, Graph], name: str
) -> None:
    canonical, document = graph(jsonld.document(EVERY[name])), read[name]
    for relation, qualified in _RELATIONS.items():
        expected = set(canonical.subject_objects(relation))
        if relation == PROV.wasGeneratedBy:
            expected |= {(made, activity) for activity, made in canonical[: PROV.generated]}
        stated = set(document.subject_objects(relation)) | {
            (subject, node)
            for subject, statement in document[:qualified]
            for node in (*document[statement : PROV.entity], *document[statement : PROV.activity])
        }
        # The safety scan is a part of the record, not of its provenance.
        assert stated == {pair for pair in expected if not str(pair[0]).endswith("#scan")}
    activities = set(document.subjects(RDF.type, PROV.Activity))
    assert activities == set(canonical.subjects(RDF.type, PROV.Activity))
    assert len(activities) == len(EVERY[name].activities)


def _document(description: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(provjson.render(description))
    return document


def test_every_name_has_a_prefix_and_stands_for_an_address() -> None:
    for description in EVERY.values():
        document = _document(description)
        prefixes = document["prefix"]
        named = {
            name for kind in ("entity", "activity", "agent") for name in document.get(kind, {})
        }
        addresses = {
            f"{prefixes[prefix]}{local}"
            for prefix, _, local in (name.partition(":") for name in named)
        }
        assert {description.pid, description.concept_pid} <= addresses
        assert {one.url for one in description.activities} <= addresses
        assert {one.url for one in description.builds} <= addresses


def test_equal_agents_are_one_and_nobody_is_invented() -> None:
    names = [one["prov:label"] for one in _document(MOST)["agent"].values()]
    assert sorted(names) == ["Ada Beispiel", "Josiah Carberry", "onnxruntime", "openvino"]
    assert not _document(LEAST).keys() & {"agent", "wasAttributedTo"}


def test_sources_without_an_address_have_a_local_name_and_their_relation() -> None:
    sources = (
        DerivationDescription(relation="quantized", source="somewhere"),
        DerivationDescription(relation="derived", source="elsewhere", url="no address"),
    )
    document = _document(replace(LEAST, derived_from=sources))
    first, second = document["wasDerivedFrom"].values()
    assert first["prov:type"]["$"] == "hub:quantizedFrom"
    assert "prov:type" not in second
    labels = [document["entity"][one["prov:usedEntity"]]["prov:label"] for one in (first, second)]
    assert labels == ["somewhere", "elsewhere"]


def test_a_withdrawn_version_is_invalidated() -> None:
    (one,) = _document(WITHDRAWN)["wasInvalidatedBy"].values()
    assert one["prov:time"] == "2026-04-02T08:30:00+00:00"
    assert one["hub:withdrawalReason"] == "Superseded; found to be wrong."
    assert "wasInvalidatedBy" not in _document(MOST)
