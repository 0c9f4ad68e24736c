"""Tables of a model's tuning log: all trials of its searches, and all timed runs.

A :class:`TrialRow` or :class:`SampleRow` is a row of a served CSV file (RFC 4180, UTF-8, with a
header line); empty cells are unknown values.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

_TYPES: dict[object, str] = {
    str: "sc:Text",
    int: "sc:Integer",
    int | None: "sc:Integer",
    float: "sc:Float",
    float | None: "sc:Float",
    datetime: "sc:DateTime",
    Literal["candidate", "baseline"]: "sc:Text",
}


def _doc(description: str) -> dict[str, str]:
    return {"description": description}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A candidate that was built, checked and run once in a search."""

    trial: str = field(metadata=_doc("Identifier of the trial."))
    job: str = field(metadata=_doc("Identifier of the search."))
    number: int = field(metadata=_doc("Position in its search, from 0."))
    target: str = field(metadata=_doc("Target that it was measured on, such as x86-64-avx512vnni."))
    backend: str = field(metadata=_doc("Compiler or runtime."))
    options: str = field(metadata=_doc("Options of the backend, as JSON."))
    proposed_by: str = field(metadata=_doc("Part of the strategy that proposed it."))
    outcome: str = field(metadata=_doc("measured, pruned, or the class of its failure."))
    tolerance: str = field(
        metadata=_doc("Tolerance class of its outputs: exact, fp16, bf16, int8.")
    )
    predicted_ratio: float | None = field(
        default=None, metadata=_doc("Ratio that the strategy predicted.")
    )
    ratio: float | None = field(
        default=None, metadata=_doc("Latency divided by the baseline's: below 1 is faster.")
    )
    ratio_low: float | None = field(
        default=None, metadata=_doc("Lower end of the confidence interval of the ratio.")
    )
    ratio_high: float | None = field(
        default=None, metadata=_doc("Upper end of the confidence interval of the ratio.")
    )
    p50_ns: int | None = field(default=None, metadata=_doc("Median latency in nanoseconds."))
    accuracy: float | None = field(
        default=None, metadata=_doc("Accuracy on the model's own samples, from 0 to 1.")
    )
    compile_s: float | None = field(default=None, metadata=_doc("Time to build it, in seconds."))
    duration_s: float = field(metadata=_doc("Time of the whole trial, in seconds."))
    created: datetime = field(metadata=_doc("When the trial ended."))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow:
    """One timed run of a trial."""

    trial: str = field(metadata=_doc("Identifier of the trial."))
    block: int = field(metadata=_doc("Block of the ABBA protocol, from 0."))
    side: Literal["candidate", "baseline"] = field(
        metadata=_doc("Measured side: candidate or baseline.")
    )
    run: int = field(
        metadata=_doc("Position of the run among those of its block and side, from 0.")
    )
    latency_ns: int = field(metadata=_doc("Latency in nanoseconds."))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; ``data_type`` is a schema.org type, such as ``sc:Integer``."""

    name: str
    data_type: str
    description: str


#: Columns of the published builds, whose values are in the Croissant document itself.
BUILD_COLUMNS = (
    Column("build", "sc:URL", "Page of the build."),
    Column("target", "sc:Text", "Target that it is made for."),
    Column("backend", "sc:Text", "Compiler or runtime."),
    Column("tolerance", "sc:Text", "Tolerance class: exact, fp16, bf16, int8."),
    Column("p50_ns", "sc:Integer", "Median latency in nanoseconds."),
    Column("p90_ns", "sc:Float", "90th percentile of the latency in nanoseconds."),
    Column("p95_ns", "sc:Float", "95th percentile in nanoseconds, if 100 runs or more."),
    Column("p99_ns", "sc:Float", "99th percentile in nanoseconds, if 1000 runs or more."),
    Column("mean_ns", "sc:Float", "Mean latency in nanoseconds."),
    Column("scenario", "sc:Text", "What a run is: single-stream, or offline for a query."),
    Column("samples_per_run", "sc:Integer", "Samples of a run, if several."),
    Column("throughput_per_s", "sc:Float", "Samples per second."),
    Column("peak_memory_bytes", "sc:Integer", "Peak memory of the process."),
    Column("energy_j", "sc:Float", "Energy of a run in joules, if a counter exists."),
    Column("processor", "sc:Text", "Processor that it was measured on."),
    Column("ratio", "sc:Float", "Latency divided by the baseline's: below 1 is faster."),
    Column("ratio_low", "sc:Float", "Lower end of the confidence interval of the ratio."),
    Column("ratio_high", "sc:Float", "Upper end of the confidence interval of the ratio."),
    Column("record", "sc:URL", "The benchmark record (hpcfair.bench/1)."),
)


@dataclass(frozen=True, slots=True)
class MeasurementTable:
    """One CSV file. ``key`` holds the columns of the primary key; ``references`` maps a column to
    the table whose column of the same name it references."""

    name: str
    description: str
    row: type[TrialRow] | type[SampleRow]
    key: tuple[str, ...]
    references: Mapping[str, str]

    @property
    def file_name(self) -> str:
        """Such as ``trials.csv``."""
        return f"{self.name}.csv"

    @property
    def columns(self) -> list[Column]:
        """In the order of the file."""
        return [
            Column(one.name, _TYPES[one.type], one.metadata["description"])
            for one in fields(self.row)
        ]


TRIALS = MeasurementTable(
    "trials", "All candidates of all searches for this version.", TrialRow, ("trial",), {}
)
SAMPLES = MeasurementTable(
    "samples",
    "All timed runs of the trials, in the order of measurement.",
    SampleRow,
    ("trial", "block", "side", "run"),
    {"trial": "trials"},
)
TABLES = (TRIALS, SAMPLES)


def table_csv(table: MeasurementTable, rows: Iterable[TrialRow | SampleRow]) -> Iterator[bytes]:
    """The CSV file line by line; ``rows`` are consumed lazily."""
    names = [column.name for column in table.columns]
    yield _line(names)
    for row in rows:
        yield _line([_cell(getattr(row, name)) for name in names])


def samples_of(trial: str, measurement: Mapping[str, Any]) -> Iterator[SampleRow]:
    """The runs of a trial from its stored ``measurement``: ``{"blocks": [{"candidate_ns": [...],
    "baseline_ns": [...]}, ...]}``. A side may be absent from a block."""
    sides: tuple[Literal["candidate", "baseline"], ...] = ("candidate", "baseline")
    for number, block in enumerate(measurement.get("blocks", ())):
        for side in sides:
            for run, latency in enumerate(block.get(f"{side}_ns", ())):
                yield SampleRow(trial=trial, block=number, side=side, run=run, latency_ns=latency)


def options_cell(options: Mapping[str, Any]) -> str:
    """Options as canonical JSON."""
    return json.dumps(options, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else value


def _line(cells: list[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()
