"""What a version came from, what was done with it, and what was built of it: PROV-O 2013.

Attribution and time are PROV's; kinds of derivation and activity are declared in
:mod:`registry.fair.linked.terms`.
"""

from typing import Any

from registry.fair.absent import known
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
from registry.fair.linked.terms import ACTIVITIES, DERIVATIONS
from registry.fair.parts import DerivationDescription

_SOFTWARE_AGENT = ["SoftwareApplication", "prov:SoftwareAgent"]


def derivations(description: Description) -> dict[str, Any]:
    """``prov:wasDerivedFrom`` with the sources in full, and the precise property for each."""
    found: dict[str, Any] = {
        "prov:wasDerivedFrom": [_source(one) for one in description.derived_from],
        "isBasedOn": [{"@id": _name_of(one)} for one in description.derived_from],
    }
    for one in description.derived_from:
        # Where nobody told how it was derived, there is no property more precise.
        if one.relation != "derived":
            found.setdefault(DERIVATIONS[one.relation], []).append({"@id": _name_of(one)})
    return found


def _name_of(one: DerivationDescription) -> str:
    return iri(one.pid) or iri(one.url) or blank("source", one)


def _source(one: DerivationDescription) -> dict[str, Any]:
    return known(
        **{"@id": _name_of(one), "@type": "prov:Entity"},
        name=one.source,
        url=iri(one.url),
        version=one.oid,
    )


def history(description: Description) -> dict[str, Any]:
    """What was done, what came of it, and on what; each thing in full where it is named first."""
    told = known(
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
    said: set[str] = set()
    return {name: _once(value, said) for name, value in told.items()}


def _once(value: Any, said: set[str]) -> Any:
    """``value`` with a link in place of what was said before: tools and machines of hundreds of
    activities are few, and triples do not count twice."""
    if isinstance(value, list):
        return [_once(one, said) for one in value]
    if not isinstance(value, dict):
        return value
    whole = repr(value)
    if "@id" in value and len(value) > 1 and whole in said:
        return {"@id": value["@id"]}
    said.add(whole)
    return {key: _once(one, said) for key, one in value.items()}


def activity(one: Activity) -> dict[str, Any]:
    """``prov:Activity`` with its inputs, outputs, agents, surroundings and settings."""
    return known(
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
            "dct:isPartOf": ref(one.within),
            "hub:targetHardware": one.hardware,
            "hub:environment": environment(one.environment) if one.environment else None,
            "hub:seed": one.seed,
            "hub:option": property_values(one.parameters),
        }
    )


def generated_by(description: Description, *urls: str) -> list[dict[str, str]]:
    """Links to the activities that made one of ``urls``."""
    return refs(
        tuple(one.url for one in description.activities if not set(urls).isdisjoint(one.generated))
    )


def build(description: Description, one: BuildDescription) -> dict[str, Any]:
    """``hub:Build`` with its files and the measurement that it stands on."""
    measured = benchmark(description, one.benchmark, target=one.target, processor=one.processor)
    return known(
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
            "hub:hasBenchmark": measured
            | known(**{"prov:wasGeneratedBy": generated_by(description, one.benchmark.url)}),
            "hub:compiledFrom": ref(description.pid),
            "prov:wasDerivedFrom": ref(description.pid),
            "prov:wasGeneratedBy": generated_by(description, one.url),
        },
    )


def hardware(one: Hardware) -> dict[str, Any]:
    """``hub:Target``: a kind of hardware, as it was on the machine that measured."""
    return known(
        **{"@id": iri(one.url), "@type": "hub:Target"},
        name=one.slug,
        additionalProperty=property_values(one.facts),
    )


def scan(one: Scan) -> dict[str, Any]:
    """``hub:SafetyScan``: whether the files may be run, and what was found in them."""
    return known(
        **{
            "@id": f"{iri(one.url)}#scan",
            "@type": ["hub:SafetyScan", "prov:Entity"],
            "dateCreated": moment(one.at),
            "hub:isAccepted": one.is_accepted,
            "hub:finding": list(one.findings),
            "prov:wasGeneratedBy": ref(one.url),
        }
    )
