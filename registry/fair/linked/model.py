"""The parts of the JSON-LD record about models and their use."""

from typing import Any

from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.linked.context import HUB_TERMS
from registry.fair.linked.measurement import evaluation
from registry.fair.linked.nodes import (
    blank,
    defined_term,
    property_value,
    property_values,
    refs,
)
from registry.fair.parts import DatasetUse, Emissions, NetworkDescription, TensorDescription
from registry.fair.serialise import drop_empty

_ROLES = {
    "trained": "fair4ml:trainedOn",
    "validated": "fair4ml:validatedOn",
    "tested": "fair4ml:testedOn",
    "mentioned": "mentions",
}


def model(description: Description) -> dict[str, Any]:
    """The network and its task."""
    network = description.network
    task = description.task
    return {
        "fair4ml:mlTask": defined_term(task, termCode=task) if task else None,
        "fair4ml:modelCategory": list(description.categories),
        "hub:architecture": list(description.architectures),
        "hpc:machineLearningFramework": description.library,
        **(_network(network) if network else {}),
    }


def _network(network: NetworkDescription) -> dict[str, Any]:
    names = dict.fromkeys(tensor.name for tensor in (*network.inputs, *network.outputs))
    return {
        "hpc:format": network.format,
        "hub:entryPoint": network.path,
        "hub:architectureClass": {"@id": f"{HUB_TERMS}{network.architecture_class}"},
        "hub:graphHash": network.graph_hash,
        "hub:numParameters": network.parameters,
        "hub:macs": network.macs,
        "hub:precision": network.precision,
        "memoryRequirements": None if network.weight_bytes is None else f"{network.weight_bytes} B",
        "hub:opset": property_values(network.opsets),
        "hub:operator": property_values(network.operators),
        "hub:hasInput": [_tensor(one) for one in network.inputs],
        "hub:hasOutput": [_tensor(one) for one in network.outputs],
        "variableMeasured": list(names),
    }


def _tensor(one: TensorDescription) -> dict[str, Any]:
    return drop_empty(
        **{"@type": "hub:TensorSpec", "name": one.name, "hub:dataType": one.dtype},
        # An empty list is kept: it is the shape of a scalar.
        **{"hub:shape": {"@list": list(one.shape)}},
    )


def use(description: Description) -> dict[str, Any]:
    """Purpose, evaluations, data sets, papers and emissions."""
    emissions = description.emissions
    return {
        **_datasets(description),
        "fair4ml:hasEvaluation": [evaluation(description, one) for one in description.evaluations],
        "fair4ml:intendedUse": description.intended_use,
        "hub:outOfScopeUse": description.out_of_scope,
        "fair4ml:modelRisksBiasLimitations": description.limitations,
        "fair4ml:ethicalSocial": description.ethics,
        "fair4ml:usageInstructions": description.usage,
        "fair4ml:codeSampleSnippet": description.snippet,
        "codeRepository": iri(description.code.url) if description.code else None,
        "citation": [
            drop_empty(
                **{"@id": iri(paper.url), "@type": "ScholarlyArticle"},
                name=paper.title,
                url=iri(paper.url),
            )
            for paper in description.papers
        ],
        "codemeta:referencePublication": refs(tuple(paper.url for paper in description.papers)),
        "fair4ml:hasCO2eEmissions": f"{emissions.co2e_kg} kg" if emissions else None,
        "hub:emissions": _emissions(emissions) if emissions else None,
    }


def _datasets(description: Description) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for one in description.datasets:
        properties.setdefault(_ROLES[one.role], []).append(_dataset(one))
    # Splits are not properties of the data set, which may have several roles with other splits.
    properties["hub:dataSplit"] = [
        property_value(one.name, one.split, propertyID=_ROLES[one.role])
        for one in description.datasets
        if one.split
    ]
    return properties


def _dataset(one: DatasetUse) -> dict[str, Any]:
    name = iri(one.pid) or iri(one.url) or blank("dataset", one.name)
    return drop_empty(**{"@id": name, "@type": "Dataset"}, name=one.name, url=iri(one.url))


def _emissions(one: Emissions) -> dict[str, Any]:
    circumstances = drop_empty(
        training_type=one.training_type, location=one.location, hardware=one.hardware
    )
    return property_value(
        "CO2e",
        one.co2e_kg,
        # UN/CEFACT Recommendation 20: kilogram.
        unitCode="KGM",
        measurementTechnique=one.source,
        valueReference=property_values(circumstances),
    )
