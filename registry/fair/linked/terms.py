"""The terms that the hub declares, because no vocabulary that it knows has them.

Each says what it means and, where there is such, what it specialises or comes close to in FAIR4ML
0.1.0, PROV-O, schema.org, the HPC Ontology 1.1.0 and the STAC extension for machine learning
models 1.5.2, whose fields have names but no addresses of their own.
"""

from dataclasses import dataclass
from typing import Literal

from registry.fair.activities import ActivityKind
from registry.fair.linked.hpc_ontology import ARCHITECTURES
from registry.fair.parts import RelationName

_STAC = "https://github.com/stac-extensions/mlm"
_STAC_TENSOR = f"{_STAC}#model-input-object"

#: What a relation to a source is called; all are, or specialise, ``prov:wasDerivedFrom``.
DERIVATIONS: dict[RelationName, str] = {
    "derived": "prov:wasDerivedFrom",
    "finetune": "fair4ml:fineTunedFrom",
    "quantized": "hub:quantizedFrom",
    "adapter": "hub:adaptedFrom",
    "merge": "hub:mergedFrom",
    "exported": "hub:exportedFrom",
    "compiled": "hub:compiledFrom",
    "distilled": "hub:distilledFrom",
    "fork": "hub:forkedFrom",
    "copy": "hub:copiedFrom",
}
#: The class of what was done.
ACTIVITIES: dict[ActivityKind, str] = {
    "publish": "hub:Publishing",
    "train": "hub:Training",
    "merge": "hub:Merging",
    "inspect": "hub:Inspecting",
    "tune": "hub:Tuning",
    "compile": "hub:Compiling",
    "quantise": "hub:Quantising",
    "convert": "hub:Converting",
    "benchmark": "hub:Benchmarking",
    "fork": "hub:Forking",
    "reproduce": "hub:Reproducing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One declared term.

    Attributes:
        name: Local name, below :data:`registry.fair.linked.context.HUB_TERMS`.
        parents: What it specialises: ``rdfs:subClassOf`` or ``rdfs:subPropertyOf``.
        close: ``skos:closeMatch``.
        broad: ``skos:broadMatch``: the other one means more.
        see: Pages that describe the like.
    """

    name: str
    kind: Literal["class", "property", "concept"]
    label: str
    comment: str
    parents: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    broad: tuple[str, ...] = ()
    see: tuple[str, ...] = ()


def _class(name: str, label: str, comment: str, *parents: str, close: str = "") -> Term:
    return Term(
        name=name,
        kind="class",
        label=label,
        comment=comment,
        parents=parents,
        close=tuple(close.split()),
    )


def _property(
    name: str, label: str, comment: str, *parents: str, close: str = "", see: str = ""
) -> Term:
    return Term(
        name=name,
        kind="property",
        label=label,
        comment=comment,
        parents=parents,
        close=tuple(close.split()),
        see=tuple(see.split()),
    )


def _derivation(name: str, label: str, comment: str) -> Term:
    close = "hpc:wasDerivedFrom"
    return _property(name, label, comment, "prov:wasDerivedFrom", close=close)


def _activity(name: str, label: str, comment: str, close: str = "") -> Term:
    return _class(name, label, comment, "prov:Activity", close=close)


_CLASSES = (
    _class("TensorSpec", "tensor", "Name, type and shape of an input or output of a network."),
    _class(
        "Build",
        "build",
        "A model compiled for a kind of hardware, with the proof of its speed and numerics.",
        "schema:SoftwareApplication",
        "prov:Entity",
    ),
    _class(
        "BenchmarkRun",
        "benchmark run",
        "A measurement of a build on hardware, beside a baseline measured at the same time.",
        "fair4ml:MLModelEvaluation",
        close="hpc:Experiment",
    ),
    _class(
        "Target",
        "target",
        "A kind of hardware that builds are made for, as the machine was that measured them.",
    ),
    _class(
        "Environment",
        "environment",
        "The machine and the software around something that ran.",
        "prov:Entity",
    ),
    _class(
        "SafetyScan",
        "safety scan",
        "What inspection found in the files that could harm who loads them: code in pickles and "
        "archives, data outside the folder, sizes and names that lie.",
        "prov:Entity",
    ),
    _activity("Publishing", "publishing", "Files became a version under an identifier."),
    _activity("Training", "training", "Weights were found from data."),
    _activity("Merging", "merging", "Weights of several networks were joined."),
    _activity("Inspecting", "inspecting", "Facts about a network were computed from its file."),
    _activity("Tuning", "tuning", "The fastest trustworthy build for hardware was searched for."),
    _activity("Compiling", "compiling", "A build was made.", "hpc:Compiling"),
    _activity("Quantising", "quantising", "Weights or activations got a narrower type."),
    _activity("Converting", "converting", "A model was written in another format."),
    _activity("Benchmarking", "benchmarking", "Time was measured.", "hpc:Profiling"),
    _activity("Forking", "forking", "A version began under another name."),
    _activity("Reproducing", "reproducing", "Test tensors were run again.", "hpc:ModelEvaluation"),
)

_DERIVATIONS = (
    _derivation("quantizedFrom", "quantised from", "The same network in a narrower type."),
    _derivation("adaptedFrom", "adapted from", "The network that this adapter belongs to."),
    _derivation("mergedFrom", "merged from", "A network whose weights went into this one."),
    _derivation("exportedFrom", "exported from", "The same network in another format."),
    _derivation("compiledFrom", "compiled from", "The version that a build was made of."),
    _derivation("distilledFrom", "distilled from", "The network that taught this one."),
    _derivation("forkedFrom", "forked from", "The version that work went on from."),
    _derivation("copiedFrom", "copied from", "The version that this has the files of."),
)

_NETWORK = (
    _property("hasInput", "input", "A tensor that the network reads.", see=_STAC_TENSOR),
    _property(
        "hasOutput",
        "output",
        "A tensor that the network gives.",
        see=f"{_STAC}#model-output-object",
    ),
    _property("dataType", "data type", "NumPy's word for a tensor's type.", see=_STAC_TENSOR),
    _property(
        "shape",
        "shape",
        "Dimensions of a tensor, in order: a number, or the name of one that is open.",
        see=_STAC_TENSOR,
    ),
    _property(
        "architecture",
        "architecture",
        "Name of the architecture, as its configuration gives it.",
        "fair4ml:modelCategory",
        see=f"{_STAC}#model-architecture",
    ),
    _property(
        "architectureClass",
        "architecture class",
        "Class of networks that profit from the same compiler passes, found from the structure.",
        "fair4ml:modelCategory",
    ),
    _property(
        "numParameters", "parameters", "Number of trained values.", see=f"{_STAC}#item-properties"
    ),
    _property("macs", "multiply-accumulates", "Multiply-accumulate operations of one run."),
    _property("opset", "operator set", "An operator set and the version of it that is used."),
    _property("operator", "operator", "An operator and how often the network has it."),
    _property(
        "precision", "precision", "The type that most weights have.", see=f"{_STAC}#item-properties"
    ),
    _property(
        "graphHash", "graph hash", "SHA-256 over the computation, without names and weights."
    ),
    _property("testTensors", "test tensors", "A file of inputs and the outputs they must give."),
)

_RECORD = (
    _property("licenseExpression", "licence expression", "The licence as SPDX expression."),
    _property("fileRole", "role", "What a file is to its version."),
    _property("hasActivity", "activity", "Something that was done to, with or for this version."),
    _property(
        "activitiesOmitted",
        "activities omitted",
        "How many older activities there are than those that are listed.",
    ),
    _property("seed", "seed", "What the random numbers of an activity began with."),
    _property(
        "environment",
        "environment",
        "What something ran or is to be run in: a file that lists it, or a description of it.",
    ),
    _property("scan", "safety scan", "The newest look at the safety of the files."),
    _property("isAccepted", "is accepted", "Whether the hub runs what was scanned."),
    _property("finding", "finding", "What is wrong or odd in what was scanned."),
    _property(
        "assessor",
        "assessor",
        "Who measured: the author, the hub, or a third party.",
    ),
    _property("dataSplit", "split", "The part of a data set that served, and for what."),
    _property("split", "split", "The part of the data set that was evaluated on."),
    _property("configuration", "configuration", "The configuration of the data set."),
    _property("outOfScopeUse", "out of scope", "What the model is not for."),
    _property("emissions", "emissions", "Carbon dioxide equivalent of training, with its source."),
    _property("withdrawalReason", "reason", "Why there is only a record left."),
    _property("cardField", "field of the card", "A field of the card that the hub does not read."),
    _property(
        "fairScore",
        "FAIR score",
        "Points earned in the last assessment from outside, of those there are.",
        "dqv:hasQualityMeasurement",
    ),
    _property("points", "points", "Points earned."),
    _property("pointsAvailable", "points available", "Points that there are to earn."),
)

_BUILD = (
    _property("hasBuild", "build", "A build of this version."),
    _property(
        "targetHardware",
        "target",
        "The kind of hardware that something is made for or ran on, by its name on the hub.",
        close="hpc:targetMachine",
        see=f"{_STAC}#accelerator-type-enum",
    ),
    _property("processor", "processor", "The processor that ran.", close="hpc:processorTech"),
    _property("backend", "backend", "The compiler and runtime of a build."),
    _property("tolerance", "tolerance", "How far a build's numbers may be from the model's."),
    _property("entryPoint", "entry point", "The file that is opened first."),
    _property("option", "option", "An option of a build or an activity, and its value."),
    _property("deviation", "deviation", "How far a build's numbers are from the model's."),
    _property("accuracy", "accuracy", "Share of samples that are right.", close="hpc:accuracy"),
    _property("referenceAccuracy", "reference accuracy", "That of the model as published."),
    _property("isBaseline", "is baseline", "Whether it is the runtime's default."),
    _property("reproduced", "reproduced", "Whether the latest run of the test tensors agreed."),
    _property("hasBenchmark", "benchmark", "The measurement that a build stands on."),
    _property("tunedOn", "tuned on", "Hardware that there are builds for, found by searches."),
    _property(
        "hasRepetition",
        "repetition",
        "A measurement by somebody else, who repeated one of the hub's.",
        "fair4ml:hasEvaluation",
    ),
    _property("repeats", "repeats", "The measurement that another one repeats."),
    _property("baseline", "baseline", "What a measurement is compared with."),
    _property("medianTime", "median time", "Median of one run.", close="hpc:executionTime"),
    _property("timeStatistic", "time statistic", "Mean or quantile of the time of one run."),
    _property("sampleCount", "samples", "How many runs were timed."),
    _property("throughput", "throughput", "Runs in a second, one after the other."),
    _property("peakMemory", "peak memory", "Most memory that the process held."),
    _property("energy", "energy", "What a run takes, as a counter of the machine saw it."),
    _property("timeRatio", "time ratio", "Time over the baseline's: below 1 is faster."),
    _property("rawRecord", "record", "The whole measurement, raw samples included."),
)

_CONCEPTS = tuple(
    Term(
        name=one.value,
        kind="concept",
        label=one.value,
        comment="A class of architectures: see architectureClass.",
        broad=(broad,),
    )
    for one, broad in ARCHITECTURES.items()
)

TERMS: tuple[Term, ...] = (
    *_CLASSES,
    *_DERIVATIONS,
    *_NETWORK,
    *_RECORD,
    *_BUILD,
    *_CONCEPTS,
)
