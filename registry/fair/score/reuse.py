"""The hub's own metrics of reusability: licences, signature, tools, tests, purpose and data."""

import re
from dataclasses import replace

from rdflib import RDF, Literal
from rdflib.term import Node

from registry.errors import Invalid
from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import Metric, Missing, Outcome, all_of, criterion
from registry.fair.score.reading import DCT, FAIR4ML, HUB, PROV, SCHEMA
from registry.validation.license import license_of

_SPDX = re.compile(r"https://spdx\.org/licenses/([A-Za-z0-9.+-]+)")
#: Classes of activities that programs perform; their tools must be named with versions.
_AUTOMATED = frozenset(
    HUB[name]
    for name in (
        "Inspecting", "Tuning", "Compiling", "Quantising", "Converting", "Benchmarking",
        "Reproducing",
    )
)  # fmt: skip
_TRUE = Literal(lexical_or_value=True)
_WAIT = "Wait until the hub has tuned it on a target."


def _spdx(harvest: Harvest) -> Outcome:
    uris = harvest.reading.urls(SCHEMA.license, DCT.license)
    unlisted = [uri for uri in uris if not _is_listed(uri)]
    missing = Missing(
        f"SPDX does not list the licence {', '.join(unlisted)}."
        if unlisted
        else "The record has no licence with an SPDX identifier.",
        "Write an identifier from https://spdx.org/licenses under 'license'.",
        "license",
    )
    return all_of(criterion(1, [] if unlisted else uris, missing))


def _is_listed(uri: str) -> bool:
    match = _SPDX.fullmatch(uri)
    try:
        return match is not None and license_of({"license": match[1]}) == match[1]
    except Invalid:
        return False


def _signature(harvest: Harvest) -> Outcome:
    read = harvest.reading
    criteria = []
    for side, predicate in (("input", HUB.hasInput), ("output", HUB.hasOutput)):
        tensors = read.nodes(predicate)
        is_complete = all(_is_typed(harvest, tensor) for tensor in tensors)
        missing = Missing(
            f"Not every {side} has a name, a type and a shape.",
            "Publish the network as ONNX, so that the hub can inspect it.",
        )
        criteria.append(criterion(0.5, read.names(tensors) if is_complete else [], missing))
    return all_of(*criteria)


def _is_typed(harvest: Harvest, tensor: Node) -> bool:
    terms = (SCHEMA.name, HUB.dataType, HUB.shape)
    return all(harvest.reading.nodes(one, of=tensor) for one in terms)


def _tools(harvest: Harvest) -> Outcome:
    read = harvest.reading
    activities = [
        node
        for node in dict.fromkeys(read.nodes(HUB.hasActivity, PROV.wasGeneratedBy))
        if not _AUTOMATED.isdisjoint(read.nodes(RDF.type, of=node))
    ]
    bare = sorted(str(node) for node in activities if not _versions(harvest, node))
    tools = sorted({one for node in activities for one in _versions(harvest, node)})
    what = f"No tool with its version: {', '.join(bare[:3])}" if bare else "There is no activity."
    return all_of(criterion(1, [] if bare else tools, Missing(what, _WAIT)))


def _versions(harvest: Harvest, activity: Node) -> list[str]:
    """Programs of an activity with their versions; empty if one has no version."""
    read = harvest.reading
    tools = []
    for tool in read.nodes(PROV.wasAssociatedWith, SCHEMA.instrument, of=activity):
        if SCHEMA.SoftwareApplication in read.nodes(RDF.type, of=tool):
            versions = read.texts(SCHEMA.softwareVersion, of=tool)
            if not versions:
                return []
            tools.append(f"{' '.join(read.texts(SCHEMA.name, of=tool))} {versions[0]}")
    return tools


def _reproduced(harvest: Harvest) -> Outcome:
    """Whether the record has test tensors, and states that all builds reproduced their outputs."""
    read = harvest.reading
    builds = read.nodes(HUB.hasBuild)
    differing = [one for one in builds if _TRUE not in read.nodes(HUB.reproduced, of=one)]
    return all_of(
        criterion(
            0.5,
            read.names(read.nodes(HUB.testTensors)),
            Missing(
                "The version has no test tensors.",
                "Add a folder test_data_set_0 with inputs and outputs, or wait for the hub's own.",
            ),
        ),
        criterion(
            0.5,
            f"{len(builds)} builds reproduced the outputs" if builds and not differing else "",
            Missing(
                f"{len(differing)} of {len(builds)} builds have not reproduced the test outputs."
                if builds
                else "There is no build yet.",
                _WAIT,
            ),
        ),
    )


def _purpose(harvest: Harvest) -> Outcome:
    fields = (
        (FAIR4ML.intendedUse, "intended_use", "intended use"),
        (FAIR4ML.modelRisksBiasLimitations, "limitations", "limitations"),
    )
    return all_of(
        *(
            criterion(
                0.5,
                what if harvest.reading.texts(term) else "",
                Missing(f"The {what} is not described.", f"Describe it under '{field}'.", field)
                if field == "intended_use"
                else Missing(
                    f"The {what} are not described.", f"Describe them under '{field}'.", field
                ),
            )
            for term, field, what in fields
        )
    )


def _data(harvest: Harvest) -> Outcome:
    """Links to this hub are followed; of others only the address is required."""
    urls = harvest.reading.urls(FAIR4ML.trainedOn)
    followed = {one.url for one in harvest.sources}
    dead = [one.url for one in harvest.sources if not one.is_ok and one.status != 410]
    missing = Missing(
        f"Sources do not exist: {', '.join(dead[:3])}"
        if dead
        else "The training data have no address.",
        "Name data sets of this hub, or addresses, under 'datasets'.",
        "datasets",
    )
    if dead and not set(dead) & set(urls):
        missing = replace(missing, how="Correct it under 'base_model'.", field="base_model")
    evidence = [url if url in followed else f"{url} (not followed)" for url in urls]
    return all_of(criterion(1, [] if dead else evidence, missing))


def _evaluated(harvest: Harvest) -> Outcome:
    results = len(harvest.reading.nodes(FAIR4ML.hasEvaluation))
    missing = Missing(
        "The record has no evaluation results.",
        "Write results under 'model-index', or add samples.npz for the hub to measure accuracy.",
        "model-index",
    )
    return all_of(criterion(1, f"{results} results" if results else "", missing))


_MODELS: frozenset[ResourceKind] = frozenset({"model"})

REUSED: tuple[Metric, ...] = (
    Metric("HUB-R-01", "hub", "R", "Licences listed by SPDX", 1, _spdx),
    Metric("HUB-R-02", "hub", "R", "Signature of the network", 1, _signature, _MODELS),
    Metric("HUB-R-03", "hub", "R", "Tools with their versions", 1, _tools, _MODELS),
    Metric("HUB-R-04", "hub", "R", "Test tensors reproduced", 1, _reproduced, _MODELS),
    Metric("HUB-R-05", "hub", "R", "Purpose and limitations", 1, _purpose, _MODELS),
    Metric("HUB-R-06", "hub", "R", "Training data with an address", 1, _data, _MODELS),
    Metric("HUB-R-07", "hub", "R", "Evaluation results", 1, _evaluated, _MODELS),
)
