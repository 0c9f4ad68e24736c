"""Writes many rows of a table: by COPY on PostgreSQL. Needs Django to be set up."""

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection
from django.db.models import Field, JSONField

Values = dict[str, Any]
Table = Any
_NULL = "\\N"


def copy(table: Table, rows: Iterable[Values]) -> None:
    """Write rows; columns that they lack get the defaults of the table."""
    if connection.vendor != "postgresql":
        table.objects.bulk_create((table(**row) for row in rows), batch_size=200)
        return
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    fields = _fields(table)
    defaults = {field.attname: field.get_default() for field in fields}
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerows(_cells(table, defaults | row) for row in itertools.chain([first], rows))
    lines.seek(0)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor:
        cursor.copy_expert(
            f"COPY {_name(table)} ({columns}) FROM STDIN (FORMAT csv, NULL '{_NULL}')",
            lines,
        )


def _cells(table: Table, row: Values) -> Iterator[str]:
    for field in _fields(table):
        value = row[field.attname]
        if value is None:
            yield _NULL
        elif isinstance(field, JSONField):
            yield json.dumps(value)
        else:
            yield str(field.get_db_prep_save(value, connection))


def _fields(table: Table) -> "Sequence[Field[Any, Any]]":
    fields = table._meta.concrete_fields  # noqa: SLF001
    # The database computes the others.
    return [field for field in fields if not field.generated]


def _name(table: Table) -> str:
    return str(table._meta.db_table)  # noqa: SLF001


def restart_sequences(*tables: Table) -> None:
    """Let the next keys of tables follow those that were written."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for table in tables:
            name = _name(table)
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), "  # noqa: S608
                f'GREATEST((SELECT max(id) FROM "{name}"), 1))'
            )
