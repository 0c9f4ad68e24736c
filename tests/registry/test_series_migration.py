"""The migration that makes series of revisions, tried on tables with rows in them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from tests.factories import database_url

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.django_db
def test_each_former_revision_is_a_series_of_its_own() -> None:
    with new_database() as variables:
        command = [sys.executable, "-m", "tests.registry.former_rows"]
        settings = {"DJANGO_SETTINGS_MODULE": "hub.settings.testing"}
        environment = os.environ | settings | variables
        subprocess.run(command, cwd=ROOT, env=environment, check=True)


@contextmanager
def new_database() -> Iterator[dict[str, str]]:
    """An empty database for another process, as environment variables."""
    if connection.vendor == "sqlite":
        # The process makes a data folder of its own.
        yield {}
        return
    own = str(connection.settings_dict["NAME"])
    name = f"{own}_former"
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
