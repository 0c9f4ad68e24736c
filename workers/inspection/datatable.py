"""Reads the columns of a data set's untrusted files: CSV, TSV, JSON lines and Parquet.

Text files are read to their end, because a type found in the first rows need not hold for the
last. A Parquet file states its types in its footer.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

from workers.inspection.errors import InspectionError
from workers.inspection.parquet import read_parquet

#: Upper bound on the columns of a file; a file with more is not described.
MAX_COLUMNS = 1000
#: Upper bound on the length of a column's name, in characters.
MAX_NAME = 200
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_MAX_CELL = 2**20
_INT64 = 2**63
#: Cells without a value in columns of other types than text, as common readers take them.
_MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_CODE = re.compile(r"[+-]?0[0-9]+")
_BOOLEANS = frozenset({"true", "false", "True", "False", "TRUE", "FALSE"})
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?")

Column = dict[str, Any]


class NotATable(InspectionError):
    """The file has no rows under named columns."""

    def __init__(self, detail: str) -> None:
        super().__init__("no_table", detail)


def read_tables(folder: str, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Entry point of the child process: the tables of files that are in ``folder``.

    Args:
        files: Name of a file in ``folder`` to its format: ``csv``, ``tsv``, ``jsonl``, ``parquet``.

    Returns:
        Name of a file to ``{"format", "rows", "columns": [{"name", "type", "is_list"}]}``, with the
        types ``text``, ``integer``, ``float``, ``boolean``, ``date`` and ``datetime``; without
        columns if the file is not a table.
    """
    return {name: _read(Path(folder) / name, kind) for name, kind in files.items()}


def _read(path: Path, kind: str) -> dict[str, Any]:
    try:
        rows, columns = _READERS[kind](path)
        names = [column["name"] for column in columns]
        if len(names) > MAX_COLUMNS or len(set(names)) < len(names):
            raise NotATable("Too many columns, or two of one name.")
        if any(not name.strip() or len(name) > MAX_NAME or "\0" in name for name in names):
            raise NotATable("A column has no name, or a very long one.")
        # JSON can spell half a character, which no database stores.
        "".join(names).encode()
    except (
        InspectionError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        csv.Error,
        RecursionError,
    ):
        # A file of strangers that is no table is no error: it has no description.
        return {"format": kind, "rows": 0, "columns": []}
    return {"format": kind, "rows": rows, "columns": columns}


def _read_csv(path: Path) -> tuple[int, list[Column]]:
    return _read_delimited(path, _DELIMITERS["csv"])


def _read_tsv(path: Path) -> tuple[int, list[Column]]:
    return _read_delimited(path, _DELIMITERS["tsv"])


def _read_delimited(path: Path, delimiter: str) -> tuple[int, list[Column]]:
    csv.field_size_limit(_MAX_CELL)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, delimiter=delimiter, strict=True)
        header = next(rows, [])
        # A header of numbers is a row of data.
        if not header or len(header) > MAX_COLUMNS or any(_FLOAT.fullmatch(one) for one in header):
            raise NotATable("The first line does not name columns.")
        if len(header) == 1 and re.search("[;,\t|]", header[0]):
            raise NotATable("The columns are separated by another character.")
        kinds: list[set[str]] = [set() for _ in header]
        count = 0
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise NotATable("A row has another number of cells than the header.")
            count += 1
            for kind, cell in zip(kinds, row, strict=True):
                if kind != {"text"}:
                    _add(kind, _cell_type(cell))
    return count, [_column(name, kind) for name, kind in zip(header, kinds, strict=True)]


def _cell_type(cell: str) -> str | None:
    """Type of a cell of text; ``None`` for a cell without a value."""
    if cell in _MISSING:
        return None
    if cell in _BOOLEANS:
        return "boolean"
    if _INTEGER.fullmatch(cell):
        return "integer" if -_INT64 <= int(cell) < _INT64 else "text"
    # Digits after a leading zero are a code, such as a postal code.
    if _FLOAT.fullmatch(cell) and not _CODE.fullmatch(cell):
        return "float"
    return _time_type(cell)


def _time_type(text: str) -> str:
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(text)
            return "date"
        if _DATETIME.fullmatch(text):
            datetime.fromisoformat(text)
            return "datetime"
    except ValueError:
        pass
    return "text"


def _read_jsonl(path: Path) -> tuple[int, list[Column]]:
    scalars: dict[str, set[str]] = {}
    items: dict[str, set[str]] = {}
    count = 0
    for row in _objects(path):
        count += 1
        for name, value in row.items():
            scalar, inside = scalars.setdefault(name, set()), items.setdefault(name, set())
            if isinstance(value, list):
                inside.add("list")
                _add_all(inside, map(_value_type, value))
            else:
                _add(scalar, _value_type(value))
        if len(scalars) > MAX_COLUMNS:
            raise NotATable("Too many columns.")
    columns = []
    for name, kinds in scalars.items():
        is_list = "list" in items[name]
        inside = items[name] - {"list"}
        # Nested objects, and lists among other values, have no type here.
        if (is_list and kinds) or {"object", "mixed"} & (kinds | inside):
            continue
        columns.append(_column(name, inside if is_list else kinds, is_list=is_list))
    if not columns:
        raise NotATable("No line has values under names.")
    return count, columns


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise NotATable("A line is not a JSON object.")
                yield row


def _value_type(value: object) -> str | None:
    """Type of a value of JSON; ``None`` for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "float"
    return _time_type(value) if isinstance(value, str) else "object"


def _add_all(kinds: set[str], more: Iterable[str | None]) -> None:
    for one in more:
        _add(kinds, one)


def _add(kinds: set[str], kind: str | None) -> None:
    if kind is not None:
        kinds.add(kind)


def _column(name: str, kinds: set[str], *, is_list: bool = False) -> Column:
    """The column with the narrowest type that all values have."""
    wider = {frozenset({"integer", "float"}): "float", frozenset({"date", "datetime"}): "datetime"}
    kind = next(iter(kinds)) if len(kinds) == 1 else wider.get(frozenset(kinds), "text")
    return {"name": name, "type": kind, "is_list": is_list}


_READERS = {"csv": _read_csv, "tsv": _read_tsv, "jsonl": _read_jsonl, "parquet": read_parquet}
