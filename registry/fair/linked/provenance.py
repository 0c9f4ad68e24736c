"""Sources, activities and builds of a version in PROV-O (2013). Kinds of derivations and activities
are declared in :mod:`registry.fair.linked.terms`."""

from typing import Any

from registry.fair.activities import Activity, BuildDescription, Hardware, Scan
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.measurement import benchmark, environment
from registry.fair.linked.nodes import (
    agent,
    blank,
    download,
    moment,
    property_values,
    ref,
    refs,
    software,
)
from registry.fair.linked.term import ACTIVITIES, DERIVATIONS
from registry.fair.parts import DerivationDescription
from registry.fair.serialise import drop_empty

_SOFTWARE_AGENT = ["SoftwareApplication", "prov:SoftwareAgent"]


def derivations(description: Description) -> dict[str, Any]:
    """``prov:wasDerivedFrom`` with all sources, and a more precise property for each."""
    properties: dict[str, Any] = {
        "prov:wasDerivedFrom": [_source(one) for one in description.derived_from],
        "isBasedOn": [{"@id": _name_of(one)} for one in description.derived_from],
    }
    for one in description.derived_from:
        # "derived" is the unspecified relation, without a more precise property.
        if one.relation != "derived":
            properties.setdefault(DERIVATIONS[one.relation], []).append({"@id": _name_of(one)})
    return properties


def _name_of(one: DerivationDescription) -> str:
    return iri(one.pid) or iri(one.url) or blank("source", one)


def _source(one: DerivationDescription) -> dict[str, Any]:
    return drop_empty(
        **{"@id": _name_of(one), "@type": "prov:Entity"},
        name=one.source,
        url=iri(one.url),
        version=one.oid,
    )


def history(description: Description) -> dict[str, Any]:
    """Activities, builds, targets and the safety scan; each node in full at its first mention."""
    properties = drop_empty(
        **{
            "hub:hasActivity": [activity(one) for one in description.activities],
            "hub:activitiesOmitted": description.activities_omitted or None,
            "hub:hasBuild": [build(description, one) for one in description.builds],
            "hub:hasRepetition": [
                benchmark(description, one, target=one.target) for one in description.repetitions
            ],
            "hub:tunedOn": [hardware(one) for one in description.tuned_on],
            "hub:scan": scan(description.scan) if description.scan else None,
        }
    )
    written: set[str] = set()
    return {name: _once(value, written) for name, value in properties.items()}


def _once(value: Any, written: set[str]) -> Any:
    """``value`` with references in place of repeated nodes, which changes no triple; hundreds of
    activities share a few tools and machines."""
    if isinstance(value, list):
        return [_once(one, written) for one in value]
    if not isinstance(value, dict):
        return value
    text = repr(value)
    if "@id" in value and len(value) > 1 and text in written:
        return {"@id": value["@id"]}
    written.add(text)
    return {key: _once(one, written) for key, one in value.items()}


def activity(one: Activity) -> dict[str, Any]:
    """``prov:Activity`` with its inputs, outputs, agents, environment and parameters."""
    return drop_empty(
        **{
            "@id": iri(one.url),
            "@type": ["prov:Activity", ACTIVITIES[one.kind]],
            "name": one.title,
            "prov:startedAtTime": moment(one.started),
            "prov:endedAtTime": moment(one.ended),
            "prov:wasAssociatedWith": [
                *([agent(one.agent)] if one.agent else []),
                *(software(tool) | {"@type": _SOFTWARE_AGENT} for tool in one.tools),
            ],
            "prov:used": refs(one.used),
            "prov:generated": refs(one.generated),
            "prov:wasInformedBy": refs(one.informed_by),
            "dct:isPartOf": ref(one.within),
            "hub:targetHardware": one.hardware,
            "hub:environment": environment(one.environment) if one.environment else None,
            "hub:seed": one.seed,
            "hub:option": property_values(one.parameters),
        }
    )


def generated_by(description: Description, *urls: str) -> list[dict[str, str]]:
    """References to the activities that generated one of ``urls``."""
    return refs(
        tuple(one.url for one in description.activities if not set(urls).isdisjoint(one.generated))
    )


def build(description: Description, one: BuildDescription) -> dict[str, Any]:
    """``hub:Build`` with its files and its measurement."""
    measurement = benchmark(description, one.benchmark, target=one.target, processor=one.processor)
    return drop_empty(
        **{"@id": iri(one.url), "@type": ["SoftwareApplication", "hub:Build"]},
        identifier=one.uuid,
        dateCreated=moment(one.created),
        processorRequirements=one.target,
        softwareRequirements=[software(tool) for tool in one.tools],
        distribution=[download(file) for file in one.files],
        **{
            "hub:targetHardware": one.target,
            "hub:backend": one.backend,
            "hub:tolerance": one.tolerance,
            "hub:entryPoint": one.entry_point,
            "hub:option": property_values(one.options),
            "hub:deviation": property_values(one.deviation),
            "hub:accuracy": one.accuracy,
            "hub:referenceAccuracy": one.accuracy_reference,
            "hub:isBaseline": one.is_baseline,
            "hub:reproduced": one.reproduced,
            "hub:hasBenchmark": measurement
            | drop_empty(**{"prov:wasGeneratedBy": generated_by(description, one.benchmark.url)}),
            "hub:compiledFrom": ref(description.pid),
            "prov:wasDerivedFrom": ref(description.pid),
            "prov:wasGeneratedBy": generated_by(description, one.url),
        },
    )


def hardware(one: Hardware) -> dict[str, Any]:
    """``hub:Target`` with the properties of the measuring machine."""
    return drop_empty(
        **{"@id": iri(one.url), "@type": "hub:Target"},
        name=one.slug,
        additionalProperty=property_values(one.facts),
    )


def scan(one: Scan) -> dict[str, Any]:
    """``hub:SafetyScan``: whether the hub runs the files, with its findings."""
    return drop_empty(
        **{
            "@id": f"{iri(one.url)}#scan",
            "@type": ["hub:SafetyScan", "prov:Entity"],
            "dateCreated": moment(one.at),
            "hub:isAccepted": one.is_accepted,
            "hub:finding": list(one.findings),
            "prov:wasGeneratedBy": ref(one.url),
        }
    )
