"""The tables of a model's tuning log: every trial of its searches, every timed run.

A :class:`TrialRow` or :class:`SampleRow` is a row of the CSV file that the hub serves (RFC 4180,
UTF-8, first line names the columns); an empty cell is a value that is not known.
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


def _is(description: str) -> dict[str, str]:
    return {"description": description}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A candidate that was built, checked and run once in a search."""

    trial: str = field(metadata=_is("Identifier of the trial."))
    job: str = field(metadata=_is("Identifier of the search."))
    number: int = field(metadata=_is("Position in its search, from 0."))
    target: str = field(metadata=_is("Machine that it was measured on, such as x86-64-avx512vnni."))
    backend: str = field(metadata=_is("Compiler or runtime."))
    options: str = field(metadata=_is("Options of the backend, as JSON."))
    proposed_by: str = field(metadata=_is("Part of the strategy that proposed it."))
    outcome: str = field(
        metadata=_is("measured, pruned after few runs, or the class of its failure.")
    )
    tolerance: str = field(
        metadata=_is("Precision class that its outputs kept: exact, fp16, bf16, int8.")
    )
    predicted_ratio: float | None = field(
        default=None, metadata=_is("Ratio that the strategy expected.")
    )
    ratio: float | None = field(
        default=None, metadata=_is("Latency over that of the baseline: below 1 is faster.")
    )
    ratio_low: float | None = field(
        default=None, metadata=_is("Lower end of the confidence interval of the ratio.")
    )
    ratio_high: float | None = field(
        default=None, metadata=_is("Upper end of the confidence interval of the ratio.")
    )
    p50_ns: int | None = field(default=None, metadata=_is("Median latency in nanoseconds."))
    accuracy: float | None = field(
        default=None, metadata=_is("Accuracy on the model's own samples, from 0 to 1.")
    )
    compile_s: float | None = field(default=None, metadata=_is("Time to build it, in seconds."))
    duration_s: float = field(metadata=_is("Time of the whole trial, in seconds."))
    created: datetime = field(metadata=_is("When the trial ended."))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow:
    """One timed run of a trial."""

    trial: str = field(metadata=_is("Identifier of the trial."))
    block: int = field(metadata=_is("Block of the ABBA protocol, from 0."))
    side: Literal["candidate", "baseline"] = field(metadata=_is("What ran: candidate or baseline."))
    run: int = field(metadata=_is("Position of the run among those of its block and side, from 0."))
    latency_ns: int = field(metadata=_is("Latency in nanoseconds."))


@dataclass(frozen=True, slots=True)
class Column:
    """Attributes: ``data_type`` is a schema.org type, ``sc:Integer``."""

    name: str
    data_type: str
    description: str


@dataclass(frozen=True, slots=True)
class MeasurementTable:
    """One CSV file.

    Attributes:
        key: Columns that tell rows apart.
        references: Column to the table whose column of the same name it refers to.
    """

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
    "trials", "Every candidate of every search for this version.", TrialRow, ("trial",), {}
)
SAMPLES = MeasurementTable(
    "samples",
    "Every timed run behind the trials, in the order they were taken.",
    SampleRow,
    ("trial", "block", "side", "run"),
    {"trial": "trials"},
)
TABLES = (TRIALS, SAMPLES)


def table_csv(table: MeasurementTable, rows: Iterable[TrialRow | SampleRow]) -> Iterator[bytes]:
    """The file, line by line; ``rows`` are read as they are needed."""
    names = [column.name for column in table.columns]
    yield _line(names)
    for row in rows:
        yield _line([_cell(getattr(row, name)) for name in names])


def samples_of(trial: str, measurement: Mapping[str, Any]) -> Iterator[SampleRow]:
    """The runs of a trial.

    Args:
        measurement: ``{"blocks": [{"candidate_ns": [...], "baseline_ns": [...]}, ...]}``, as a
            trial stores it; a side that a block lacks was not run.
    """
    sides: tuple[Literal["candidate", "baseline"], ...] = ("candidate", "baseline")
    for number, block in enumerate(measurement.get("blocks", ())):
        for side in sides:
            for run, latency in enumerate(block.get(f"{side}_ns", ())):
                yield SampleRow(trial=trial, block=number, side=side, run=run, latency_ns=latency)


def options_cell(options: Mapping[str, Any]) -> str:
    """Options as a cell: equal options give equal texts."""
    return json.dumps(options, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else value


def _line(cells: list[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()
