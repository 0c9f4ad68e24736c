"""The model card of a CycloneDX 1.7 ML-BOM: JSON schema, definitions ``modelCard``,
``performanceMetric``, ``componentData`` and ``environmentalConsiderations``."""

from typing import Any

from registry.fair.bom.common import slice_of, text_of, utc
from registry.fair.bom.cyclonedx_parts import entries_of, metrics_of, properties_of
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import (
    DatasetRole,
    DatasetUse,
    Emissions,
    QualityEvaluation,
    TensorDescription,
)
from registry.fair.serialise import drop_empty

_ROLE_TEXTS: dict[DatasetRole, str] = {
    "trained": "Used for training.",
    "validated": "Used for validation.",
    "tested": "Used for testing.",
    "mentioned": "Mentioned by the model card.",
}


def model_card(description: Description) -> dict[str, Any]:
    """The ``modelCard`` of the version; empty if it would have no content."""
    metrics = [_metric(one) for one in description.evaluations]
    for one in description.repetitions:
        metrics += metrics_of(one, f"{one.target}, {one.backend}, measured by others")
    return drop_empty(
        modelParameters=_parameters(description),
        quantitativeAnalysis=drop_empty(performanceMetrics=metrics),
        considerations=_considerations(description),
        properties=properties_of(
            outOfScope=description.out_of_scope,
            usage=description.usage,
            snippet=description.snippet,
        )
        + _hub_properties(description),
    )


def _hub_properties(description: Description) -> list[dict[str, str]]:
    """Assessors, targets and the safety scan, for which CycloneDX has no fields."""
    scan = description.scan
    properties = entries_of(
        "assessor", {f"{one.metric}, {slice_of(one)}": one.by for one in description.evaluations}
    )
    for hardware in description.tuned_on:
        properties += properties_of(tunedOn=hardware.slug)
        properties += entries_of(f"tunedOn:{hardware.slug}", hardware.facts)
    if scan:
        properties += properties_of(scanAccepted=text_of(scan.is_accepted), scannedAt=utc(scan.at))
        properties += [one for text in scan.findings for one in properties_of(scanFinding=text)]
    omitted = description.activities_omitted
    return properties + properties_of(activitiesOmitted=str(omitted) if omitted else None)


def _parameters(description: Description) -> dict[str, Any]:
    network = description.network
    return drop_empty(
        task=description.task,
        architectureFamily=network.architecture_class if network else None,
        modelArchitecture=", ".join(description.architectures),
        datasets=[_dataset(use) for use in description.datasets],
        inputs=[{"format": _format(one)} for one in network.inputs] if network else (),
        outputs=[{"format": _format(one)} for one in network.outputs] if network else (),
    )


def _format(tensor: TensorDescription) -> str:
    """One text for name, type and shape: ``image: float32[N, 3, 64, 64]``."""
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _dataset(use: DatasetUse) -> dict[str, Any]:
    return drop_empty(
        type="dataset",
        name=use.name,
        description=_ROLE_TEXTS[use.role],
        contents=drop_empty(
            url=iri(use.pid) or iri(use.url),
            properties=properties_of(datasetRole=use.role, datasetSplit=use.split),
        ),
    )


def _metric(evaluation: QualityEvaluation) -> dict[str, Any]:
    low, high = evaluation.low, evaluation.high
    return drop_empty(
        type=evaluation.metric,
        value=text_of(evaluation.value),
        slice=slice_of(evaluation),
        confidenceInterval=drop_empty(
            lowerBound=None if low is None else text_of(low),
            upperBound=None if high is None else text_of(high),
        ),
    )


def _considerations(description: Description) -> dict[str, Any]:
    return drop_empty(
        useCases=_texts(description.intended_use),
        technicalLimitations=_texts(description.limitations),
        ethicalConsiderations=[{"name": text} for text in _texts(description.ethics)],
        environmentalConsiderations=_environment(description.emissions),
    )


def _texts(*texts: str | None) -> list[str]:
    return [text for text in texts if text]


def _environment(emissions: Emissions | None) -> dict[str, Any]:
    # The schema's own fields require the energy and its provider, which cards do not have.
    if emissions is None:
        return {}
    return drop_empty(
        properties=properties_of(
            co2eKilograms=text_of(emissions.co2e_kg),
            co2eSource=emissions.source,
            trainingType=emissions.training_type,
            trainingLocation=emissions.location,
            trainingHardware=emissions.hardware,
        )
    )
