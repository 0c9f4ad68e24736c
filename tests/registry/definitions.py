"""What a database says of its tables, to compare two ways of making them."""

import re
from collections.abc import Iterator
from typing import Any

#: Columns, constraints and indexes of PostgreSQL, each as one text. Keys of tables that Django adds
#: for groups and permissions are left out: migrations do not know the kind that the app has set. So
#: are names of NOT NULL, which keep former names of columns.
_POSTGRES = """
    SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length,
        is_nullable, column_default, is_identity, generation_expression)
    FROM information_schema.columns
    WHERE table_schema = 'public' AND (table_name, column_name) NOT IN (
        ('registry_user_groups', 'id'), ('registry_user_user_permissions', 'id')
    )
    UNION ALL
    SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype != 'n'
    UNION ALL
    SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
"""


def definitions(cursor: Any, vendor: str) -> set[str]:
    """Every column, constraint and index, in the words of the database, without Django's list of
    migrations.

    Args:
        cursor: Of SQLite or PostgreSQL, as ``vendor`` says.
    """
    if vendor == "postgresql":
        cursor.execute(_POSTGRES)
        texts = {text for (text,) in cursor.fetchall()}
    else:
        cursor.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        texts = {text for row in cursor.fetchall() for text in _of_sqlite(*row)}
    return {text for text in texts if "django_migrations" not in text}


def _of_sqlite(kind: str, name: str, sql: str) -> Iterator[str]:
    """An index, or each column and constraint of a table: their order says when they were added."""
    if kind != "table":
        yield sql
        return
    body = sql[sql.index("(") + 1 : sql.rindex(")")]
    depth, begin = 0, 0
    for match in re.finditer(r"'[^']*'|[(),]", body):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "," and depth == 0:
            yield f"{name}: {body[begin : match.start()].strip()}"
            begin = match.end()
    yield f"{name}: {body[begin:].strip()}"
