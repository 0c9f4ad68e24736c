"""What a version came from, what was done with it, and what was built of it: PROV-O 2013.

Attribution and time are PROV's; kinds of derivation and activity are declared in
:mod:`registry.fair.linked.terms`.
"""

from typing import Any

from registry.fair.absent import known
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.nodes import (
    agent,
    blank,
    defined_term,
    download,
    moment,
    organization,
    property_value,
    property_values,
    ref,
    refs,
    software,
)
from registry.fair.linked.terms import ACTIVITIES, DERIVATIONS
from registry.fair.parts import Activity, Benchmark, Build, Derivation, Evaluation

# UN/CEFACT Recommendation 20: nanosecond.
_NANOSECOND = "C47"
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


def _name_of(one: Derivation) -> str:
    return iri(one.pid) or iri(one.url) or blank("source", one)


def _source(one: Derivation) -> dict[str, Any]:
    return known(
        **{"@id": _name_of(one), "@type": "prov:Entity"},
        name=one.source,
        url=iri(one.url),
        version=one.oid,
    )


def activity(one: Activity) -> dict[str, Any]:
    """``prov:Activity`` with its inputs, outputs, tools and settings."""
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
            "hub:targetHardware": one.hardware,
            "hub:option": property_values(one.parameters),
        }
    )


def generated_by(description: Description, *urls: str) -> list[dict[str, str]]:
    """Links to the activities that made one of ``urls``."""
    return refs(
        tuple(one.url for one in description.activities if not set(urls).isdisjoint(one.generated))
    )


def build(description: Description, one: Build) -> dict[str, Any]:
    """``hub:Build`` with its files and the measurement that it stands on."""
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
            "hub:hasBenchmark": _benchmark(description, one, one.benchmark),
            "hub:compiledFrom": ref(description.pid),
            "prov:wasDerivedFrom": ref(description.pid),
            "prov:wasGeneratedBy": generated_by(description, one.url),
        },
    )


def _benchmark(description: Description, made: Build, one: Benchmark) -> dict[str, Any]:
    time = {"@type": "QuantitativeValue", "value": one.p50_ns, "unitCode": _NANOSECOND}
    ratio = None
    if one.ratio is not None:
        bounds = known(minValue=one.ratio_low, maxValue=one.ratio_high)
        ratio = property_value(None, one.ratio, **bounds)
    return known(
        **{"@id": iri(one.url), "@type": ["fair4ml:MLModelEvaluation", "hub:BenchmarkRun"]},
        identifier=one.id,
        dateCreated=moment(one.measured),
        **{
            "fair4ml:evaluatedMLModel": ref(description.pid),
            "hub:targetHardware": made.target,
            "hub:processor": made.processor,
            "hub:baseline": one.baseline,
            "hub:medianTime": time,
            "hub:timeRatio": ratio,
            "hub:rawRecord": ref(one.document_url),
        },
    )


def evaluation(description: Description, one: Evaluation) -> dict[str, Any]:
    """``fair4ml:MLModelEvaluation``: one figure of quality, its data and who measured it."""
    data = known(
        **{"@type": "Dataset"},
        name=one.dataset,
        **{"hub:configuration": one.dataset_config, "hub:split": one.split},
    )
    result = property_value(
        one.metric,
        one.value,
        measurementTechnique=one.metric,
        **known(minValue=one.low, maxValue=one.high),
    )
    return known(
        **{"@type": "fair4ml:MLModelEvaluation"},
        about=defined_term(one.task) if one.task else None,
        url=iri(one.url),
        sourceOrganization=organization(description.hub.publisher) if one.by == "hub" else None,
        **{
            "fair4ml:evaluatedMLModel": ref(description.pid),
            "fair4ml:evaluationDataset": data,
            "fair4ml:evaluationMetrics": one.metric,
            "fair4ml:evaluationResults": result,
        },
    )
