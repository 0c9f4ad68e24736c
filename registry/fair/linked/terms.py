"""The hub's own vocabulary terms, for concepts that established vocabularies lack.

Each refers to the terms that it specialises or resembles in FAIR4ML 0.1.0, PROV-O, schema.org, the
HPC Ontology 1.1.0, and the STAC extension for machine learning models 1.5.2 (whose fields have no
addresses of their own).
"""

from registry.fair.linked.hpc_ontology import ARCHITECTURES
from registry.fair.linked.term import (
    Term,
    activity_term,
    class_term,
    derivation_term,
    property_term,
)

_STAC = "https://github.com/stac-extensions/mlm"
_STAC_TENSOR = f"{_STAC}#model-input-object"

_CLASSES = (
    class_term("TensorSpec", "tensor", "Name, type and shape of an input or output of a network."),
    class_term(
        "Build",
        "build",
        "A model compiled for a target, with its measured speed and numerics.",
        "schema:SoftwareApplication",
        "prov:Entity",
    ),
    class_term(
        "BenchmarkRun",
        "benchmark run",
        "A measurement of a build, interleaved with that of a baseline.",
        "fair4ml:MLModelEvaluation",
        close="hpc:Experiment",
    ),
    class_term(
        "Target",
        "target",
        "A kind of hardware that builds are made for, with the properties of the machine.",
    ),
    class_term(
        "Environment",
        "environment",
        "The machine and software of an activity or measurement.",
        "prov:Entity",
    ),
    class_term(
        "SafetyScan",
        "safety scan",
        "Findings of an inspection about the safety of the files: code in pickles and archives, "
        "data outside the folder, forged sizes and names.",
        "prov:Entity",
    ),
    activity_term(
        "Publishing", "publishing", "Publication of files as a version with an identifier."
    ),
    activity_term("Training", "training", "Training of weights on data."),
    activity_term("Merging", "merging", "Merging of the weights of several networks."),
    activity_term(
        "Inspecting", "inspecting", "Computation of facts about a network from its file."
    ),
    activity_term("Tuning", "tuning", "Search for the fastest build with acceptable numerics."),
    activity_term("Compiling", "compiling", "Compilation of a build.", "hpc:Compiling"),
    activity_term(
        "Quantising", "quantising", "Conversion of weights or activations to a narrower type."
    ),
    activity_term("Converting", "converting", "Conversion of a model to another format."),
    activity_term("Benchmarking", "benchmarking", "Measurement of latency.", "hpc:Profiling"),
    activity_term("Forking", "forking", "Copy of a repository under another name."),
    activity_term(
        "Reproducing", "reproducing", "Repeated run of the test tensors.", "hpc:ModelEvaluation"
    ),
)

_DERIVATIONS = (
    derivation_term("quantizedFrom", "quantised from", "The same network in a narrower type."),
    derivation_term("adaptedFrom", "adapted from", "The network that this adapter extends."),
    derivation_term(
        "mergedFrom", "merged from", "A network whose weights were merged into this one."
    ),
    derivation_term("exportedFrom", "exported from", "The same network in another format."),
    derivation_term("compiledFrom", "compiled from", "The version that a build was compiled from."),
    derivation_term("distilledFrom", "distilled from", "The teacher network of this one."),
    derivation_term("forkedFrom", "forked from", "The version that this one was forked from."),
    derivation_term("copiedFrom", "copied from", "The version that files were copied from."),
    derivation_term(
        "importedFrom",
        "imported from",
        "The version on another server that was copied to this hub.",
    ),
)

_NETWORK = (
    property_term("hasInput", "input", "An input tensor of the network.", see=_STAC_TENSOR),
    property_term(
        "hasOutput",
        "output",
        "An output tensor of the network.",
        see=f"{_STAC}#model-output-object",
    ),
    property_term("dataType", "data type", "NumPy name of a tensor's type.", see=_STAC_TENSOR),
    property_term(
        "shape",
        "shape",
        "Dimensions of a tensor in order: numbers, or names of open dimensions.",
        see=_STAC_TENSOR,
    ),
    property_term(
        "architecture",
        "architecture",
        "Name of the architecture in the configuration.",
        "fair4ml:modelCategory",
        see=f"{_STAC}#model-architecture",
    ),
    property_term(
        "architectureClass",
        "architecture class",
        "Class of networks that benefit from the same compiler passes, by structure.",
        "fair4ml:modelCategory",
    ),
    property_term(
        "numParameters", "parameters", "Number of parameters.", see=f"{_STAC}#item-properties"
    ),
    property_term("macs", "multiply-accumulates", "Multiply-accumulate operations of one run."),
    property_term("opset", "operator set", "An operator set with its version."),
    property_term("operator", "operator", "An operator with the number of its nodes."),
    property_term(
        "precision", "precision", "The type of most weights.", see=f"{_STAC}#item-properties"
    ),
    property_term(
        "graphHash", "graph hash", "SHA-256 over the computation, without names and weights."
    ),
    property_term(
        "testTensors", "test tensors", "A file of test inputs or of their expected outputs."
    ),
)

_RECORD = (
    property_term("licenseExpression", "licence expression", "The licence as an SPDX expression."),
    property_term("fileRole", "role", "The role of a file in its version."),
    property_term("hasActivity", "activity", "An activity on this version."),
    property_term(
        "activitiesOmitted", "activities omitted", "Number of older activities that are not listed."
    ),
    property_term("seed", "seed", "Seed of the random numbers of an activity."),
    property_term(
        "environment",
        "environment",
        "A software environment: a file that lists it, or a description.",
    ),
    property_term("scan", "safety scan", "The newest inspection of the safety of the files."),
    property_term("isAccepted", "is accepted", "Whether the hub runs the scanned network."),
    property_term("finding", "finding", "A problem or oddity in the scanned files."),
    property_term("assessor", "assessor", "Who measured: the author, the hub, or a third party."),
    property_term("dataSplit", "split", "The part of a data set that was used, with its role."),
    property_term("split", "split", "The part of a data set used for evaluation."),
    property_term("configuration", "configuration", "The configuration of the data set."),
    property_term("outOfScopeUse", "out of scope", "Uses that the model is not intended for."),
    property_term(
        "emissions", "emissions", "Carbon dioxide equivalent of training, with its source."
    ),
    property_term("withdrawalReason", "reason", "Reason for the withdrawal."),
    property_term(
        "cardField", "field of the card", "A field of the card that the hub does not read."
    ),
    property_term(
        "fairScore",
        "FAIR score",
        "Share of the points earned in the newest FAIR assessment.",
        "dqv:hasQualityMeasurement",
    ),
    property_term("points", "points", "Points earned."),
    property_term("pointsAvailable", "points available", "Attainable points."),
)

_BUILD = (
    property_term("hasBuild", "build", "A build of this version."),
    property_term(
        "targetHardware",
        "target",
        "Name of the target that something was made for or ran on.",
        close="hpc:targetMachine",
        see=f"{_STAC}#accelerator-type-enum",
    ),
    property_term(
        "processor", "processor", "The processor that was measured.", close="hpc:processorTech"
    ),
    property_term("backend", "backend", "The compiler and runtime of a build."),
    property_term("tolerance", "tolerance", "Tolerance class of a build's outputs."),
    property_term("entryPoint", "entry point", "The file that a runtime opens."),
    property_term("option", "option", "An option of a build or an activity with its value."),
    property_term(
        "deviation", "deviation", "Difference between a build's outputs and the reference's."
    ),
    property_term("accuracy", "accuracy", "Share of correct samples.", close="hpc:accuracy"),
    property_term("referenceAccuracy", "reference accuracy", "Accuracy of the published model."),
    property_term(
        "isBaseline", "is baseline", "Whether the build is the runtime with default options."
    ),
    property_term("reproduced", "reproduced", "Whether the latest run of the test tensors agreed."),
    property_term("hasBenchmark", "benchmark", "The measurement that a build was published for."),
    property_term("tunedOn", "tuned on", "A target with builds of this version."),
    property_term(
        "hasRepetition",
        "repetition",
        "A measurement by a third party that repeats one of the hub.",
        "fair4ml:hasEvaluation",
    ),
    property_term("repeats", "repeats", "The measurement that is repeated."),
    property_term("baseline", "baseline", "The baseline of a measurement."),
    property_term(
        "medianTime", "median time", "Median latency of a run.", close="hpc:executionTime"
    ),
    property_term("timeStatistic", "time statistic", "Mean or quantile of the latency of a run."),
    property_term("sampleCount", "samples", "Number of timed runs."),
    property_term("scenario", "scenario", "What a run is, by the names of MLPerf Inference."),
    property_term("samplesPerRun", "samples of a run", "Samples that a run computes; else one."),
    property_term("throughput", "throughput", "Samples per second."),
    property_term("peakMemory", "peak memory", "Peak memory of the process."),
    property_term("energy", "energy", "Energy of a run, from a counter of the machine."),
    property_term(
        "timeRatio", "time ratio", "Latency divided by the baseline's: below 1 is faster."
    ),
    property_term("rawRecord", "record", "The complete measurement with raw samples."),
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

TERMS: tuple[Term, ...] = (*_CLASSES, *_DERIVATIONS, *_NETWORK, *_RECORD, *_BUILD, *_CONCEPTS)
