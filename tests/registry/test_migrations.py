"""Migrations bring new and former hubs to the tables of the models.

The suite makes its tables from the models, and no tables of others: processes of their own migrate.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from tests.factories import database_url
from tests.registry.definitions import definitions

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("start", ["new", "former"])
def test_a_migrated_hub_has_the_tables_of_the_models(start: str) -> None:
    with new_database() as variables:
        done = subprocess.run(
            [sys.executable, "-m", "tests.registry.migrating", start],
            cwd=ROOT,
            env=os.environ | {"DJANGO_SETTINGS_MODULE": "hub.settings.testing"} | variables,
            stdout=subprocess.PIPE,
            check=True,
        )
    with connection.cursor() as cursor:
        assert set(json.loads(done.stdout)) == definitions(cursor, connection.vendor)


@contextmanager
def new_database() -> Iterator[dict[str, str]]:
    """An empty database for another process, as environment variables."""
    if connection.vendor == "sqlite":
        # The process makes a data folder of its own.
        yield {}
        return
    own = str(connection.settings_dict["NAME"])
    name = f"{own}_migrated"
    # A database cannot be made within a transaction.
    server = connection.get_new_connection(connection.get_connection_params())
    server.autocommit = True
    try:
        with server.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}"')
        address, mark, options = database_url().partition("?")
        yield {"DATABASE_URL": f"{address.removesuffix(own)}{name}{mark}{options}"}
        with server.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}"')
    finally:
        server.close()
