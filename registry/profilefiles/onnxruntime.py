"""Reads traces of ONNX Runtime's profiler: Chrome trace events as JSON.

``SessionOptions.enable_profiling`` or ``onnxruntime_perf_test -p`` writes them. An event of
category ``Node`` whose name ends in ``_kernel_time`` is one execution of a node of the optimised
network; ``model_run`` is one run. ``ts`` and ``dur`` are microseconds. Nodes without a name are
called ``<operator>_<index>`` by the runtime.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from registry.profilefiles.bounds import MOST_ROWS, number, parse_json, texts
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import MeasuredCall, ProfileFile, spread

NAME = "onnxruntime"
_SUFFIX = "_kernel_time"
_US = 1000
#: Operators that the optimiser inserts between those of the graph.
_CONVERSIONS = frozenset({"ReorderInput", "ReorderOutput", "MemcpyToHost", "MemcpyFromHost"})
_CONTAINERS = frozenset({"If", "Loop", "Scan"})
_PRECISIONS = {
    "float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16",
    "int8": "int8", "uint8": "int8",
}  # fmt: skip
_INTEGER = ("QLinear", "QGemm", "QAttention", "MatMulInteger", "ConvInteger", "DynamicQuantize")
_HOST = "CPUExecutionProvider"

Event = Mapping[str, Any]


def recognises(data: bytes) -> bool:
    """Whether the file looks like a trace of this profiler."""
    return b"_kernel_time" in data or (b'"model_run"' in data and b'"cat"' in data)


def read(data: bytes, details: bytes | None = None) -> ProfileFile:  # noqa: ARG001
    """The medians of all runs but the first, which includes allocations. Raises ProfileFault."""
    document = parse_json(data)
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ProfileFault("The file does not contain a list of trace events.")
    if len(events) > MOST_ROWS:
        raise ProfileFault(f"The trace has {len(events):,} events; at most {MOST_ROWS:,} are read.")
    runs = _runs(events)
    kernels = [event for event in events if _is_kernel(event)]
    if not kernels:
        raise ProfileFault(
            "The trace has no kernel, only events of the session.",
            "Run the network after enabling the profiler, and call end_profiling() afterwards.",
        )
    timed: dict[str, list[tuple[int, int, Event]]] = {}
    for event in _outermost(kernels):
        name = texts(event.get("name")).removesuffix(_SUFFIX)
        run = bisect_right([start for start, _ in runs], _time(event, "ts")) - 1 if runs else 0
        if run >= 0:
            timed.setdefault(name, []).append((run, _time(event, "dur"), event))
    counted = range(1 if len(runs) > 1 else 0, max(len(runs), 1))
    ordered = sorted(timed.items(), key=lambda item: _time(item[1][-1][2], "ts"))
    calls = [_call(name, executions, counted) for name, executions in ordered]
    calls = [call for call in calls if call.runs]
    totals = [duration for number, (_, duration) in enumerate(runs) if number in counted]
    total_ns = spread(totals)[0] if totals else sum(call.median_ns for call in calls)
    return ProfileFile(
        format=NAME,
        method=f"ONNX Runtime's profiler, medians of {max(len(counted), 1)} runs",
        total_ns=total_ns,
        is_total_stated=bool(totals),
        calls=tuple(calls),
        notes=_notes(calls, len(runs)),
    )


def _runs(events: Iterable[Event]) -> list[tuple[int, int]]:
    """Start and duration of each run, in microseconds and nanoseconds, in order."""
    for name in ("model_run", "SequentialExecutor::Execute"):
        runs = [event for event in events if event.get("name") == name and "dur" in event]
        if runs:
            return sorted((_time(run, "ts"), _time(run, "dur") * _US) for run in runs)
    return []


def _is_kernel(event: Event) -> bool:
    name = event.get("name")
    return event.get("cat") == "Node" and isinstance(name, str) and name.endswith(_SUFFIX)


def _outermost(kernels: list[Event]) -> list[Event]:
    """Kernels without those that ran inside the body of another one, whose time includes theirs."""
    ordered = sorted(kernels, key=lambda each: (_time(each, "ts"), -_time(each, "dur")))
    outermost, end = [], -(2**62)
    for event in ordered:
        started, took = _time(event, "ts"), _time(event, "dur")
        if started + took <= end:
            continue
        outermost.append(event)
        if _args(event).get("op_name") in _CONTAINERS:
            end = started + took
    return outermost


def _call(name: str, executions: list[tuple[int, int, Event]], counted: range) -> MeasuredCall:
    by_run: dict[int, int] = {}
    for run, took_us, _ in executions:
        if run in counted:
            by_run[run] = by_run.get(run, 0) + took_us * _US
    args = _args(executions[-1][2])
    operator = texts(args.get("op_name"))
    middle, deviation = spread(list(by_run.values())) if by_run else (0, 0)
    outputs = _tensors(args.get("output_type_shape"))
    return MeasuredCall(
        name=name,
        operator=operator,
        median_ns=middle,
        mad_ns=deviation,
        runs=len(by_run),
        names=(name,),
        outputs=(name,),
        shape=outputs[0][1] if outputs else None,
        precision=_precision(operator, [*_tensors(args.get("input_type_shape")), *outputs]),
        implementation=texts(args.get("provider")),
        converts=operator in _CONVERSIONS,
    )


def _tensors(value: object) -> list[tuple[str, tuple[int, ...]]]:
    """Element type and shape of each tensor in ``[{"float": [1, 3]}, ...]``."""
    tensors = []
    for tensor in value if isinstance(value, list) else []:
        for kind, shape in tensor.items() if isinstance(tensor, dict) else ():
            if isinstance(shape, list) and all(type(size) is int for size in shape):
                tensors.append((str(kind), tuple(shape)))
    return tensors


def _precision(operator: str, tensors: list[tuple[str, tuple[int, ...]]]) -> str:
    if operator.startswith(_INTEGER):
        return "int8"
    return next((_PRECISIONS[kind] for kind, _ in tensors if kind in _PRECISIONS), "")


def _notes(calls: list[MeasuredCall], runs: int) -> tuple[str, ...]:
    notes = []
    if runs <= 1:
        notes.append("One run only, which includes allocations and cold caches.")
    others = sorted({call.implementation for call in calls} - {_HOST, ""})
    if others:
        notes.append(
            f"Times of {', '.join(others)} are those of the host's calls, which return before the "
            "device has finished."
        )
    return tuple(notes)


def _args(event: Event) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _time(event: Event, field: str) -> int:
    name = texts(event.get("name"))[:60]
    return round(number(event.get(field), what=f"{field!r} of the event {name!r}"))
