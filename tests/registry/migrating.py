"""Migrates an empty database and prints its tables: ``python -m tests.registry.migrating START``.

``new`` migrates as a new hub does. ``former`` begins with the tables and rows of a hub from before
migration 0027 and before the squashed migration, and upgrades it.
"""

import json
import sys

import django
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tests.registry.definitions import definitions
from tests.registry.former_rows import check, fill

_BEFORE, _AFTER = "0022_growth", "0027_file_series"


def main(start: str) -> None:
    """Migrate to the newest tables."""
    django.setup()
    if start == "former":
        _upgrade_series()
    call_command("migrate", verbosity=0)
    # Exits if a migration is left, as the squashed one may be.
    call_command("migrate", check_unapplied=True, verbosity=0)
    with connection.cursor() as cursor:
        sys.stdout.write(json.dumps(sorted(definitions(cursor, connection.vendor))))


def _upgrade_series() -> None:
    """Fill the tables as they were, migrate them, and compare."""
    executor = MigrationExecutor(connection)
    # Each migration, as before there was one that replaces them.
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    executor.migrate([("registry", _BEFORE)])
    expected = fill(_tables_of(_BEFORE))
    call_command("migrate", "registry", _AFTER, verbosity=0)
    check(_tables_of(_AFTER), expected)
    with pytest.raises(IrreversibleError):
        call_command("migrate", "registry", _BEFORE, verbosity=0)


def _tables_of(migration: str) -> object:
    """The models as they were after a migration."""
    return MigrationLoader(connection).project_state(("registry", migration)).apps


if __name__ == "__main__":
    main(sys.argv[1])
