"""Croissant record sets of data sets: one for each file whose columns were read."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from registry.fair.crate.graph import local
from registry.fair.datatable import ColumnDescription, TableDescription
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
_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")


def record_sets(
    files: tuple[FileDescription, ...], file_id: Callable[[FileDescription], str]
) -> list[dict[str, Any]]:
    """The record sets of these files, named by path without extension where that is unique.

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
            sets.append(_record_set(name, file, file.table, file_id(file)))
    return sets


def _stem(file: FileDescription) -> str:
    return PurePosixPath(file.path).with_suffix("").as_posix()


def _record_set(
    name: str, file: FileDescription, table: TableDescription, source: str
) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": _stem(file),
        "description": f"The {table.rows} rows of {file.path}.",
        "field": [_field(name, column, source) for column in table.columns],
    }


def _field(records: str, column: ColumnDescription, source: str) -> dict[str, Any]:
    is_plain = _PLAIN.fullmatch(column.name)
    part = column.name if is_plain else local("column", column.name).removeprefix("#")
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{part}",
        "name": column.name,
        "dataType": _TYPES[column.type],
        "source": {"fileObject": {"@id": source}, "extract": {"column": column.name}},
    } | drop_empty(isArray=column.is_list or None, arrayShape="-1" if column.is_list else None)
