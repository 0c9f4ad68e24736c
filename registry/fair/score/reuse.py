"""The hub's own metrics of what users need for using a thing again.

Licences are looked up; tensors, tools and data are named; the record says that builds gave its test
tensors again.
"""

import re
from dataclasses import replace

from rdflib import RDF, Literal
from rdflib.term import Node

from registry.errors import Invalid
from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import Metric, Missing, Outcome, all_of, answered
from registry.fair.score.reading import DCT, FAIR4ML, HUB, PROV, SCHEMA
from registry.validation.license import license_of

_SPDX = re.compile(r"https://spdx\.org/licenses/([A-Za-z0-9.+-]+)")
#: What programs do, and so have versions of programs to tell.
_COMPUTED = frozenset(
    HUB[name]
    for name in (
        "Inspecting",
        "Tuning",
        "Compiling",
        "Quantising",
        "Converting",
        "Benchmarking",
        "Reproducing",
    )
)
_TRUE = Literal(lexical_or_value=True)
_NOT_YET = "Wait until the hub has tuned it on a target."


def _spdx(harvest: Harvest) -> Outcome:
    uris = harvest.reading.urls(SCHEMA.license, DCT.license)
    unlisted = [uri for uri in uris if not _is_listed(uri)]
    missing = Missing(
        f"SPDX does not list the licence {', '.join(unlisted)}."
        if unlisted
        else "There is no licence to look up at SPDX.",
        "Write the id of one of https://spdx.org/licenses under 'license'.",
        "license",
    )
    return all_of(answered(1, [] if unlisted else uris, missing))


def _is_listed(uri: str) -> bool:
    found = _SPDX.fullmatch(uri)
    try:
        return found is not None and license_of({"license": found[1]}) == found[1]
    except Invalid:
        return False


def _signature(harvest: Harvest) -> Outcome:
    read = harvest.reading
    questions = []
    for side, predicate in (("input", HUB.hasInput), ("output", HUB.hasOutput)):
        tensors = read.nodes(predicate)
        is_whole = all(_is_typed(harvest, tensor) for tensor in tensors)
        missing = Missing(
            f"Not every {side} has a name, a type and a shape.",
            "Publish the network as ONNX, so that the hub can read it.",
        )
        questions.append(answered(0.5, read.names(tensors) if is_whole else [], missing))
    return all_of(*questions)


def _is_typed(harvest: Harvest, tensor: Node) -> bool:
    terms = (SCHEMA.name, HUB.dataType, HUB.shape)
    return all(harvest.reading.nodes(one, of=tensor) for one in terms)


def _tools(harvest: Harvest) -> Outcome:
    read = harvest.reading
    done = [
        node
        for node in dict.fromkeys(read.nodes(HUB.hasActivity, PROV.wasGeneratedBy))
        if not _COMPUTED.isdisjoint(read.nodes(RDF.type, of=node))
    ]
    bare = sorted(str(node) for node in done if not _versions(harvest, node))
    told = sorted({one for node in done for one in _versions(harvest, node)})
    what = f"No tool with its version: {', '.join(bare[:3])}" if bare else "Nothing was done yet."
    return all_of(answered(1, [] if bare else told, Missing(what, _NOT_YET)))


def _versions(harvest: Harvest, activity: Node) -> list[str]:
    """The programs of an activity with their versions; none if one lacks its version."""
    read = harvest.reading
    found = []
    for tool in read.nodes(PROV.wasAssociatedWith, SCHEMA.instrument, of=activity):
        if SCHEMA.SoftwareApplication in read.nodes(RDF.type, of=tool):
            versions = read.texts(SCHEMA.softwareVersion, of=tool)
            if not versions:
                return []
            found.append(f"{' '.join(read.texts(SCHEMA.name, of=tool))} {versions[0]}")
    return found


def _reproduced(harvest: Harvest) -> Outcome:
    """What the record says: the hub has run its builds, an assessor does not run them again."""
    read = harvest.reading
    builds = read.nodes(HUB.hasBuild)
    differing = [one for one in builds if _TRUE not in read.nodes(HUB.reproduced, of=one)]
    return all_of(
        answered(
            0.5,
            read.names(read.nodes(HUB.testTensors)),
            Missing(
                "The version has no test tensors.",
                "Add a folder test_data_set_0 of inputs and outputs, or wait: the hub makes one.",
            ),
        ),
        answered(
            0.5,
            f"{len(builds)} builds gave the same again" if builds and not differing else "",
            Missing(
                f"{len(differing)} of {len(builds)} builds have not given the tests' outputs."
                if builds
                else "There is no build yet.",
                _NOT_YET,
            ),
        ),
    )


def _purpose(harvest: Harvest) -> Outcome:
    told = (
        (FAIR4ML.intendedUse, "intended_use", "what it is meant for"),
        (FAIR4ML.modelRisksBiasLimitations, "limitations", "where it fails"),
    )
    return all_of(
        *(
            answered(
                0.5,
                what if harvest.reading.texts(term) else "",
                Missing(f"Nothing says {what}.", f"Write it under '{field}'.", field),
            )
            for term, field, what in told
        )
    )


def _data(harvest: Harvest) -> Outcome:
    """Links on the hub are followed; of others counts only that they are named by an address."""
    named = harvest.reading.urls(FAIR4ML.trainedOn)
    asked = {one.url for one in harvest.sources}
    dead = [one.url for one in harvest.sources if not one.is_found and one.status != 410]
    missing = Missing(
        f"What it was made from is not there: {', '.join(dead[:3])}"
        if dead
        else "No address names the data it was trained on.",
        "Name data sets of this hub, or addresses, under 'datasets'.",
        "datasets",
    )
    if dead and not set(dead) & set(named):
        missing = replace(missing, how="Correct it under 'base_model'.", field="base_model")
    told = [url if url in asked else f"{url} (named by an address)" for url in named]
    return all_of(answered(1, [] if dead else told, missing))


def _evaluated(harvest: Harvest) -> Outcome:
    figures = len(harvest.reading.nodes(FAIR4ML.hasEvaluation))
    missing = Missing(
        "No figure says how good it is.",
        "Write results under 'model-index', or add samples.npz, by which the hub measures.",
        "model-index",
    )
    return all_of(answered(1, f"{figures} figures" if figures else "", missing))


_MODELS: frozenset[ResourceKind] = frozenset({"model"})

REUSED: tuple[Metric, ...] = (
    Metric("HUB-R-01", "hub", "R", "Licences that SPDX lists", 1, _spdx),
    Metric("HUB-R-02", "hub", "R", "Signature of the network", 1, _signature, _MODELS),
    Metric("HUB-R-03", "hub", "R", "Tools with their versions", 1, _tools, _MODELS),
    Metric("HUB-R-04", "hub", "R", "Test tensors reproduced", 1, _reproduced, _MODELS),
    Metric("HUB-R-05", "hub", "R", "Purpose and limitations", 1, _purpose, _MODELS),
    Metric("HUB-R-06", "hub", "R", "Training data named by address", 1, _data, _MODELS),
    Metric("HUB-R-07", "hub", "R", "Figures of quality", 1, _evaluated, _MODELS),
)
