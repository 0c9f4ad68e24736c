"""Profiles builds with ONNX Runtime's profiler.

::

    artefact ─ name all nodes ─▶ optimise as for users, save ─ name all nodes ─▶
        run unchanged under the profiler ─▶ kernel times by name ─▶ nodes of the published graph

The optimised network is saved and then run without optimisations, because only then each event of
the trace names a node of a readable graph. The kernels are the same. All times include the overhead
of the profiler, a microsecond or more per kernel.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import onnx

from hpcfair.errors import HpcfairError
from hpcfair.runtimes.onnxruntime import open_session
from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends.attribution import Operator, attribute, graph_of, read_graph
from workers.backends.onnxruntime.files import external_files
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.profile import CallSite, Profile
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: Untimed runs; bounds on the number of timed runs; seconds for them. Traces hold a million events.
_WARMUP, _FEWEST, _MOST, _SECONDS = 2, 3, 50, 2.0
_MOST_EVENTS = 500_000
#: Operators that optimisers insert between those of the graph.
_CONVERSIONS = frozenset(
    (  # noqa: SIM905
        "ReorderInput ReorderOutput Transpose Cast QuantizeLinear DequantizeLinear"
        " DynamicQuantizeLinear MemcpyToHost MemcpyFromHost"
    ).split()
)
#: Prefixes of operators that compute in 8-bit integers, whatever their output type.
_INTEGER = (
    *("QLinear", "QGemm", "QAttention", "QEmbedLayerNormalization"),
    *("MatMulInteger", "ConvInteger", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"),
)
_PRECISIONS = {
    "float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16",
    "int8": "int8", "uint8": "int8",
}  # fmt: skip
#: Operators computed in bfloat16 with ``bf16_gemm``, on processors that support it.
_GEMMS = frozenset({"MatMul", "FusedMatMul", "Gemm", "FusedGemm"})
_BLOCKED = "com.microsoft.nchwc"


def profile_build(
    network: Network, target: TargetSpec, build: BuildResult, inputs: Mapping[str, Array]
) -> Profile:
    """Run a build under the profiler. Raises InvalidCandidate if ONNX Runtime cannot open it or the
    trace is incomplete."""
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
    """A copy whose nodes all have unique names, if need be that of their first output. ORT files
    are used unchanged: they are already optimised, and only optimisation loses names."""
    if path.suffix == ".ort":
        return path
    model = onnx.load(path, load_external_data=False)
    if not _name_nodes(model.graph):
        return path
    if external_files(path):
        onnx.load_external_data_for_model(model, str(path.parent))
    return _save(model, folder)


def _name_nodes(graph: onnx.GraphProto) -> bool:
    """Give unique names to the nodes of the main graph; returns whether any changed."""
    names: set[str] = set()
    changed = False
    for number, node in enumerate(graph.node):
        if not node.name or node.name in names:
            output = next(filter(None, node.output), "")
            unused = output and output not in names
            node.name = output if unused else f"{node.op_type} {number}"
            changed = True
        names.add(node.name)
    return changed


def _save(model: onnx.ModelProto, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=1024)
    return path


def _optimised(path: Path, options: Options, folder: Path) -> Path:
    """The network optimised with these options, with named nodes."""
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
    _drop_unused_inputs(model.graph)
    # The file still refers to the weights beside it.
    onnx.save(model, saved)
    return saved


def _drop_unused_inputs(graph: onnx.GraphProto) -> None:
    """Drop unused inputs: those with a default value that was folded."""
    used_names = {name for node in graph_of(graph).nodes for name in node.inputs}
    used = [value for value in graph.input if value.name in used_names]
    del graph.input[:]
    graph.input.extend(used)


def _run(
    path: Path, options: Options, inputs: Mapping[str, Array], folder: Path
) -> tuple[int, list[dict[str, Any]]]:
    """Number of timed runs, and the events of all runs."""

    def trace(settings: ort.SessionOptions) -> None:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(folder / "trace")

    others = {name: value for name, value in options.items() if name != "default"}
    session = open_session(path, {**others, "graph_optimization": "disable"}, trace)
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
    # ONNX Runtime's exceptions share no base below Exception.
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
    """Call sites in the order of the last run; subgraphs belong to the node that contains them."""
    nodes = {node.name: node for node in graph.node}
    events: dict[str, list[Mapping[str, Any]]] = {name: [] for name in nodes}
    for event in trace:
        name = str(event["name"]).removesuffix("_kernel_time")
        if event.get("cat") == "Node" and name in events and event["name"] != name:
            events[name].append(event)
    for name, timed in events.items():
        if len(timed) < runs:
            raise InvalidCandidate(f"the trace has {name} in {len(timed)} of {runs} runs only")
    order = sorted(nodes, key=lambda name: int(events[name][-1]["ts"]))
    operators = [_operator(nodes[name]) for name in order]
    attribution = attribute(read_graph(network.model_path), operators)
    bf16 = bool(options.get("bf16_gemm")) and "bf16" in target.features
    sites = [
        _site(nodes[name], events[name][-runs:], bf16=bf16, nodes=links)
        for name, links in zip(order, attribution.links, strict=True)
    ]
    whole = [int(event["dur"]) * 1000 for event in trace if event["name"] == "model_run"]
    return Profile(
        method=f"onnxruntime {ort.__version__} profiler",
        total_ns=int(median(whole[-runs:])),
        call_sites=tuple(sites),
        folded=attribution.folded,
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
    """Precision of a kernel, from its input and output types; ``None`` if unknown."""
    if str(args.get("op_name", "")).startswith(_INTEGER):
        return "int8"
    for side in ("input_type_shape", "output_type_shape"):
        for tensor in args.get(side) or ():
            for kind in tensor:
                if kind in _PRECISIONS:
                    return _PRECISIONS[kind]
    return None
