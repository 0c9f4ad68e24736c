"""Tables in the files of data sets."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
#: In lower case, with the dot.
TABLE_SUFFIXES = tuple(_FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDescription:
    """A column; ``type`` is ``text``, ``integer``, ``float``, ``boolean``, ``date`` or
    ``datetime``, of its items if ``is_list``."""

    name: str
    type: str
    is_list: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """The columns that were read from a file, and its number of rows."""

    rows: int
    columns: tuple[ColumnDescription, ...]


def table_format(path: str) -> str | None:
    """Format of the table that a file of this path may have; ``None`` for other files."""
    return _FORMATS.get(PurePosixPath(path).suffix.lower())


def table_of(rows: int, columns: list[dict[str, Any]]) -> TableDescription:
    """A table from stored values."""
    return TableDescription(
        rows=rows, columns=tuple(ColumnDescription(**column) for column in columns)
    )
