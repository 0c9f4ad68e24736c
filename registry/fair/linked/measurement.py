"""Measurements and evaluations with their environments, as FAIR4ML evaluations. Terms that FAIR4ML
0.1.0 lacks are declared in :mod:`registry.fair.linked.terms`."""

from typing import Any

from registry.fair.activities import Benchmark, Energy, Environment
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.nodes import (
    blank,
    defined_term,
    moment,
    organization,
    property_value,
    property_values,
    ref,
    software,
)
from registry.fair.parts import Assessor, QualityEvaluation
from registry.fair.serialise import drop_empty

# UN/CEFACT Recommendation 20: nanosecond, reciprocal second, byte, joule.
_NANOSECOND, _PER_SECOND, _BYTE, _JOULE = "C47", "C97", "AD", "JOU"


def environment(one: Environment) -> dict[str, Any]:
    """``hub:Environment``: machine, system and installed packages."""
    return drop_empty(
        **{"@id": blank("environment", one), "@type": "hub:Environment"},
        additionalProperty=property_values(one.facts),
        softwareRequirements=[software(package) for package in one.packages],
    )


def benchmark(
    description: Description, one: Benchmark, *, target: str | None, processor: str | None = None
) -> dict[str, Any]:
    """``hub:BenchmarkRun``: latency, throughput, memory and energy."""
    ratio = None
    if one.ratio is not None:
        bounds = drop_empty(minValue=one.ratio_low, maxValue=one.ratio_high)
        ratio = property_value(None, one.ratio, **bounds)
    repeated = f"{description.hub.url}/records/{one.reproduces}" if one.reproduces else None
    return drop_empty(
        **{"@id": iri(one.url), "@type": ["fair4ml:MLModelEvaluation", "hub:BenchmarkRun"]},
        identifier=one.id,
        dateCreated=moment(one.measured),
        **_assessed(description, one.by),
        **{
            "fair4ml:evaluatedMLModel": ref(description.pid),
            "hub:targetHardware": target,
            "hub:processor": processor,
            "hub:backend": one.backend,
            "hub:baseline": one.baseline,
            "hub:scenario": one.scenario,
            "hub:sampleCount": one.samples,
            "hub:samplesPerRun": one.samples_per_run,
            "hub:medianTime": _quantity(one.p50_ns, _NANOSECOND),
            "hub:timeStatistic": _times(one),
            "hub:throughput": _quantity(one.throughput_per_s, _PER_SECOND),
            "hub:peakMemory": _quantity(one.peak_memory_bytes, _BYTE),
            "hub:energy": _energy(one.energy) if one.energy else None,
            "hub:timeRatio": ratio,
            "hub:environment": environment(one.environment) if one.environment else None,
            "hub:repeats": ref(repeated),
            "hub:rawRecord": ref(one.document_url),
        },
    )


def evaluation(description: Description, one: QualityEvaluation) -> dict[str, Any]:
    """``fair4ml:MLModelEvaluation``: one metric with its data set and assessor."""
    data = drop_empty(
        **{"@type": "Dataset"},
        name=one.dataset,
        **{"hub:configuration": one.dataset_config, "hub:split": one.split},
    )
    result = property_value(
        one.metric,
        one.value,
        measurementTechnique=one.metric,
        **drop_empty(minValue=one.low, maxValue=one.high),
    )
    return drop_empty(
        **{"@type": "fair4ml:MLModelEvaluation"},
        about=defined_term(one.task) if one.task else None,
        url=iri(one.url),
        **_assessed(description, one.by),
        **{
            "fair4ml:evaluatedMLModel": ref(description.pid),
            "fair4ml:evaluationDataset": data,
            "fair4ml:evaluationMetrics": one.metric,
            "fair4ml:evaluationResults": result,
        },
    )


def _assessed(description: Description, by: Assessor) -> dict[str, Any]:
    """The assessor. Whether an evaluation is extrinsic is not known: that depends on whether the
    authors saw the data, not on who measured."""
    return drop_empty(
        **{
            "hub:assessor": by,
            "sourceOrganization": organization(description.hub.publisher) if by == "hub" else None,
        }
    )


def _times(one: Benchmark) -> list[dict[str, Any]]:
    values = {"mean": one.mean_ns, "p90": one.p90_ns, "p95": one.p95_ns, "p99": one.p99_ns}
    return [
        property_value(name, value, unitCode=_NANOSECOND)
        for name, value in values.items()
        if value is not None
    ]


def _quantity(value: float | None, unit: str) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"@type": "QuantitativeValue", "value": value, "unitCode": unit}


def _energy(one: Energy) -> dict[str, Any]:
    return property_value(
        "energy of a run",
        one.joules,
        unitCode=_JOULE,
        measurementMethod=one.method,
        measurementTechnique=one.source,
    )
