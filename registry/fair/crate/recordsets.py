"""Croissant record sets of data sets: one for each file whose columns were read."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from registry.fair.crate.graph import local
from registry.fair.datatable import ColumnDescription, TableDescription, table_format
from registry.fair.parts import FileDescription
from registry.fair.serialise import drop_empty

_TYPES = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "float": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}
#: Media types as the official library names them; it reads no other names.
_ALIASES = {"jsonl": "application/jsonlines", "parquet": "application/x-parquet"}
# Without slashes, which separate a field from its record set.
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")


def record_sets(
    files: tuple[FileDescription, ...], file_id: Callable[[FileDescription], str]
) -> list[dict[str, Any]]:
    """The record sets of these files, named by path without extension, with ``-``
    for ``/``, where that is unique.

    Args:
        file_id: Gives the identifier of a file in the document.
    """
    tables = [file for file in files if file.is_available and file.table]
    stems = Counter(_stem(file) for file in tables)
    taken = {file_id(file) for file in files}
    sets = []
    for file in tables:
        stem = _stem(file)
        is_plain = _PLAIN.fullmatch(stem) and stems[stem] == 1 and stem not in taken
        name = stem if is_plain else local("records", file.path)
        if file.table:
            sets.append(_record_set(name, file, file.table, file_id(file), taken))
    return sets


def encoding_formats(file: FileDescription) -> list[str]:
    """The media type of the file, and the name that the official library has for it."""
    alias = _ALIASES.get(table_format(file.path) or "") if file.table else None
    return [file.media_type, *([alias] if alias else [])]


def _stem(file: FileDescription) -> str:
    return PurePosixPath(file.path).with_suffix("").as_posix().replace("/", "-")


def _record_set(
    name: str, file: FileDescription, table: TableDescription, source: str, taken: set[str]
) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": _stem(file),
        "description": f"The {table.rows} rows of {file.path}.",
        "field": [_field(name, column, source, taken) for column in table.columns],
    }


def _field(records: str, column: ColumnDescription, source: str, taken: set[str]) -> dict[str, Any]:
    is_plain = _PLAIN.fullmatch(column.name) and f"{records}/{column.name}" not in taken
    part = column.name if is_plain else local("column", column.name).removeprefix("#")
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{part}",
        "name": column.name,
        "dataType": _TYPES[column.type],
        "source": {"fileObject": {"@id": source}, "extract": {"column": column.name}},
    } | drop_empty(isArray=column.is_list or None, arrayShape="-1" if column.is_list else None)
