"""The suite makes its tables from the models, so one test makes them as a hub does."""

import sqlite3
from typing import Any

import pytest
from django.db import connection

from tests.migrated import migrated_database

Tables = dict[str, set[tuple[object, ...]]]


@pytest.mark.slow
@pytest.mark.django_db
def test_migrations_make_the_tables_of_the_models(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert connection.vendor == "sqlite"
    with sqlite3.connect(migrated_database(tmp_path_factory)) as migrated:
        made, indexes = _tables(migrated.cursor()), _indexes(migrated.cursor())
    del made["django_migrations"]
    with connection.cursor() as cursor:
        assert made == _tables(cursor)
        assert indexes == _indexes(cursor)


def _tables(cursor: Any) -> Tables:
    """Each table's columns: name, type, whether it may be null, default and place in the key."""
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [name for (name,) in cursor.fetchall()]
    return {name: _columns(cursor, name) for name in names}


def _columns(cursor: Any, table: str) -> set[tuple[object, ...]]:
    cursor.execute(f"PRAGMA table_info({table})")
    # Where a column stands says when it was added.
    return {tuple(row[1:]) for row in cursor.fetchall()}


def _indexes(cursor: Any) -> set[str]:
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
    return {name for (name,) in cursor.fetchall()}
