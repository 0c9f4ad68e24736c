"""Reads OpenVINO's performance counters, as ``benchmark_app -report_type detailed_counters`` writes
them.

CSV: a table for each inference request, ``layerName;execStatus;layerType;execType;realTime
(ms);cpuTime (ms)``, with a last row ``Total``. JSON (``-json_stats``): ``{"report_type":
"detailed", "detailed_performance": [{"nodes": [{"name", "node_type", "status", "real_time",
...}]}]}``. Times are milliseconds with three digits: an operator below half a microsecond takes 0.
Names are those of the plug-in's operators; many stem from the network's tensors, others are
numbered by the optimiser.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from registry.profilefiles.bounds import number, parse_csv, parse_json, texts
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import MOST_CALLS, MeasuredCall, ProfileFile, spread

NAME = "openvino"
_COLUMNS = ("layerName", "execStatus", "layerType", "execType", "realTime (ms)")
_NS_IN_MS = 1e6
_EXECUTED = "EXECUTED"
_CONVERSIONS = frozenset({"Reorder", "Convert", "Transpose"})
_PRECISIONS = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "int8",
    "f64": "float64",
}  # fmt: skip
_DETAILED = "Write it with -report_type detailed_counters."


@dataclass(frozen=True, slots=True)
class _Counter:
    name: str
    status: str
    operator: str
    implementation: str
    real_ns: int


def recognises(data: bytes) -> bool:
    """Whether the file looks like a report of this tool."""
    return b"layerName" in data or (b'"report_type"' in data and b"_performance" in data)


def read(data: bytes, details: bytes | None = None) -> ProfileFile:  # noqa: ARG001
    """The medians of all inference requests. Raises ProfileFault."""
    is_json = data.lstrip()[:1] == b"{"
    requests = list(_of_json(data) if is_json else _of_csv(data))
    executed = [[each for each in one if each.status == _EXECUTED] for one in requests]
    executed = [one for one in executed if one]
    if not executed:
        raise ProfileFault("No operator of this report was executed.", _average_hint(data))
    order = [each.name for each in executed[0]]
    if len(set(order)) < len(order):
        raise ProfileFault(
            "A request of this report has two operators with the same name.", _DETAILED
        )
    times: dict[str, list[int]] = {}
    for one in executed:
        for each in one:
            times.setdefault(each.name, []).append(each.real_ns)
    calls = tuple(_call(each, times[each.name]) for each in executed[0])
    zero = sum(call.median_ns == 0 for call in calls)
    return ProfileFile(
        format=NAME,
        method=f"OpenVINO's performance counters, medians of {len(executed)} inference requests",
        total_ns=sum(call.median_ns for call in calls),
        is_total_stated=False,
        calls=calls,
        notes=_notes(zero, len(calls)),
    )


def _of_csv(data: bytes) -> Iterable[list[_Counter]]:
    for header, *rows in parse_csv(data, _COLUMNS[0]):
        places = {title.strip(): place for place, title in enumerate(header)}
        if not set(_COLUMNS) <= places.keys():
            raise ProfileFault(f"The table has no column {_COLUMNS[-1]!r}.", _DETAILED)
        cells = [
            [row[places[column]] for column in _COLUMNS]
            for row in rows
            if len(row) >= len(places) - 1
        ]
        yield _counters([row for row in cells if row[1]])


def _of_json(data: bytes) -> Iterable[list[_Counter]]:
    document = parse_json(data)
    if not isinstance(document, dict):
        raise ProfileFault("The JSON is not a report of benchmark_app.", _DETAILED)
    requests = document.get("detailed_performance") or [document.get("avg_performance")]
    fields = ("name", "status", "node_type", "exec_type", "real_time")
    for request in requests if isinstance(requests, list) else ():
        nodes = request.get("nodes") if isinstance(request, dict) else None
        if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
            raise ProfileFault("The report has no list of nodes.", _DETAILED)
        yield _counters([[node.get(field) for field in fields] for node in nodes])


def _counters(rows: list[list[Any]]) -> list[_Counter]:
    if len(rows) > MOST_CALLS:
        raise ProfileFault(
            f"A request has {len(rows):,} operators; at most {MOST_CALLS:,} are read."
        )
    return [
        _Counter(
            name=texts(name),
            status=texts(status).rpartition(".")[2],
            operator=texts(operator),
            implementation=texts(implementation),
            real_ns=round(number(real, what=f"The time of {texts(name)[:60]!r}") * _NS_IN_MS),
        )
        for name, status, operator, implementation, real in rows
    ]


def _call(counter: _Counter, times_ns: list[int]) -> MeasuredCall:
    middle, deviation = spread(times_ns)
    return MeasuredCall(
        name=counter.name,
        operator=counter.operator,
        median_ns=middle,
        mad_ns=deviation,
        runs=len(times_ns),
        names=(counter.name,),
        outputs=(counter.name,),
        precision=_PRECISIONS.get(counter.implementation.rpartition("_")[2].lower(), ""),
        implementation=counter.implementation,
        converts=counter.operator in _CONVERSIONS,
    )


def _notes(zero: int, count: int) -> tuple[str, ...]:
    notes = ["A counter is the mean over all runs of its request, the first one included."]
    if zero:
        notes.append(f"{zero} of {count} operators took less than the counter's resolution, 1 µs.")
    return tuple(notes)


def _average_hint(data: bytes) -> str:
    if b"avg_performance" in data:
        return f"The JSON with averages holds one operator only. {_DETAILED}"
    return _DETAILED
