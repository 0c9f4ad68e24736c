"""Where the time of a build goes, from ONNX Runtime's own profiler.

::

    artefact ─ every node named ─▶ optimised as for its user, saved ─ every node named ─▶
        run as it is, under the profiler ─▶ kernel times by name ─▶ nodes of the published graph

The optimiser's result is saved and then run with optimisations off, because only then each event
of the trace names one node of a graph that can be read. The kernels are the same; what the
profiler itself costs, a microsecond or more each, is in every figure.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import onnx
import onnxruntime as ort

from hpcfair.errors import HpcfairError
from hpcfair.runtimes.onnxruntime import open_session
from workers.backends.attribution import Operator, attribute, graph_of, read_graph
from workers.backends.onnxruntime.files import external_files
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.profile import CallSite, Profile
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: Untimed runs; then as many as fit the time, within bounds. The trace holds a million events.
_WARMUP, _FEWEST, _MOST, _SECONDS = 2, 3, 50, 2.0
_MOST_EVENTS = 500_000
#: Inserted by optimisers between the operators of the graph.
_CONVERSIONS = frozenset(
    (  # noqa: SIM905
        "ReorderInput ReorderOutput Transpose Cast QuantizeLinear DequantizeLinear"
        " DynamicQuantizeLinear MemcpyToHost MemcpyFromHost"
    ).split()
)
#: Compute in 8-bit integers, whatever type their output is.
_INTEGER = (
    *("QLinear", "QGemm", "QAttention", "QEmbedLayerNormalization"),
    *("MatMulInteger", "ConvInteger", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"),
)
_PRECISIONS = {
    "float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16",
    "int8": "int8", "uint8": "int8",
}  # fmt: skip
#: Multiplied in bfloat16 under ``bf16_gemm``, where the processor can.
_GEMMS = frozenset({"MatMul", "FusedMatMul", "Gemm", "FusedGemm"})
_BLOCKED = "com.microsoft.nchwc"


def profile_build(
    network: Network, target: TargetSpec, build: BuildResult, inputs: Mapping[str, Array]
) -> Profile:
    """Run a build under the profiler.

    Raises:
        InvalidCandidate: ONNX Runtime does not open it, or its trace is incomplete.
    """
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    try:
        with TemporaryDirectory() as folder:
            path = build.directory / build.entry_point
            named = _named(path, Path(folder, "named"))
            optimised = _optimised(named, build.runtime_options, Path(folder, "optimised"))
            runs, trace = _run(optimised, build.runtime_options, inputs, Path(folder))
            graph = onnx.load(optimised, load_external_data=False).graph
    except HpcfairError as error:
        raise InvalidCandidate(f"{error.detail} {error.hint}".strip()) from error
    return _read(network, target, build.runtime_options, graph, runs, trace)


def _named(path: Path, folder: Path) -> Path:
    """A copy whose nodes all have names of their own: their first output's, where they had none.

    An artefact in ONNX Runtime's own format is taken as it is: it is past the optimisations that
    would lose those names.
    """
    if path.suffix == ".ort":
        return path
    model = onnx.load(path, load_external_data=False)
    if not _name_nodes(model.graph):
        return path
    if external_files(path):
        onnx.load_external_data_for_model(model, str(path.parent))
    return _save(model, folder)


def _name_nodes(graph: onnx.GraphProto) -> bool:
    """Give names to the nodes of the main graph that lack one of their own; whether any did."""
    seen: set[str] = set()
    changed = False
    for number, node in enumerate(graph.node):
        if not node.name or node.name in seen:
            named_by = next(filter(None, node.output), "")
            free = named_by and named_by not in seen
            node.name = named_by if free else f"{node.op_type} {number}"
            changed = True
        seen.add(node.name)
    return changed


def _save(model: onnx.ModelProto, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=1024)
    return path


def _optimised(path: Path, options: Options, folder: Path) -> Path:
    """What the optimiser makes of a file under these options, with nodes named."""
    folder.mkdir()
    saved = folder / "optimised.onnx"

    def save(settings: ort.SessionOptions) -> None:
        settings.optimized_model_filepath = str(saved)
        settings.add_session_config_entry("session.save_model_format", "ONNX")
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", "weights"
        )

    open_session(path, options, save)
    model = onnx.load(saved, load_external_data=False)
    _name_nodes(model.graph)
    _drop_idle_inputs(model.graph)
    # Still points at the weights beside it.
    onnx.save(model, saved)
    return saved


def _drop_idle_inputs(graph: onnx.GraphProto) -> None:
    """Drop inputs nobody takes: those with a default, which folding has used up."""
    taken = {name for node in graph_of(graph).nodes for name in node.inputs}
    kept = [value for value in graph.input if value.name in taken]
    del graph.input[:]
    graph.input.extend(kept)


def _run(
    path: Path, options: Options, inputs: Mapping[str, Array], folder: Path
) -> tuple[int, list[dict[str, Any]]]:
    """Number of runs that count, and the events of all runs."""

    def trace(settings: ort.SessionOptions) -> None:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(folder / "trace")

    kept = {name: value for name, value in options.items() if name != "default"}
    session = open_session(path, {**kept, "graph_optimization": "disable"}, trace)
    feed = {value.name: inputs[value.name] for value in session.get_inputs()}
    try:
        for _ in range(_WARMUP):
            started = perf_counter()
            session.run(None, feed)
            took_s = perf_counter() - started
        bound = _MOST_EVENTS // max(1, len(onnx.load(path, load_external_data=False).graph.node))
        runs = max(_FEWEST, min(_MOST, bound, int(_SECONDS / took_s)))
        for _ in range(runs):
            session.run(None, feed)
    # What it raises shares no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"it does not run under the profiler: {error}") from error
    events = json.loads(Path(session.end_profiling()).read_text())
    return runs, [event for event in events if isinstance(event.get("args"), dict)]


def _read(
    network: Network,
    target: TargetSpec,
    options: Options,
    graph: onnx.GraphProto,
    runs: int,
    trace: Sequence[Mapping[str, Any]],
) -> Profile:
    """Call sites in the order of the last run; subgraphs count with the node that holds them."""
    nodes = {node.name: node for node in graph.node}
    events: dict[str, list[Mapping[str, Any]]] = {name: [] for name in nodes}
    for event in trace:
        name = str(event["name"]).removesuffix("_kernel_time")
        if event.get("cat") == "Node" and name in events and event["name"] != name:
            events[name].append(event)
    short = [name for name, found in events.items() if len(found) < runs]
    if short:
        raise InvalidCandidate(
            f"the trace tells of {short[0]} in {len(events[short[0]])} runs only"
        )
    order = sorted(nodes, key=lambda name: int(events[name][-1]["ts"]))
    operators = [_operator(nodes[name]) for name in order]
    found = attribute(read_graph(network.model_path), operators)
    bf16 = bool(options.get("bf16_gemm")) and "bf16" in target.features
    sites = [
        _site(nodes[name], events[name][-runs:], bf16=bf16, nodes=links)
        for name, links in zip(order, found.links, strict=True)
    ]
    whole = [int(event["dur"]) * 1000 for event in trace if event["name"] == "model_run"]
    return Profile(
        method=f"onnxruntime {ort.__version__} profiler",
        total_ns=int(median(whole[-runs:])),
        call_sites=tuple(sites),
        folded=found.folded,
    )


def _operator(node: onnx.NodeProto) -> Operator:
    converts = node.op_type in _CONVERSIONS
    return Operator(
        node.op_type,
        (node.name,),
        tuple(filter(None, node.output)),
        tuple(node.input) if converts else (),
        converts,
    )


def _site(
    node: onnx.NodeProto, events: Sequence[Mapping[str, Any]], *, bf16: bool, nodes: Any
) -> CallSite:
    times = [int(event["dur"]) * 1000 for event in events]
    middle = int(median(times))
    return CallSite(
        name=node.name,
        operator=node.op_type,
        median_ns=middle,
        mad_ns=int(median(abs(ns - middle) for ns in times)),
        runs=len(times),
        precision="bfloat16" if bf16 and node.op_type in _GEMMS else _precision(events[-1]["args"]),
        layout="NCHWc" if node.domain == _BLOCKED else None,
        implementation=str(events[-1]["args"].get("provider") or "") or None,
        nodes=nodes,
    )


def _precision(args: Mapping[str, Any]) -> str | None:
    """What it computes in, from the types it takes and gives; ``None`` where these say nothing."""
    if str(args.get("op_name", "")).startswith(_INTEGER):
        return "int8"
    for side in ("input_type_shape", "output_type_shape"):
        for tensor in args.get(side) or ():
            for kind in tensor:
                if kind in _PRECISIONS:
                    return _PRECISIONS[kind]
    return None
