"""Dumps of the database, made and loaded by its own tools.

On PostgreSQL these are ``pg_dump`` and ``pg_restore``, which must be installed and not be older
than the server; on SQLite its backup interface. A dump is consistent: it shows one moment, and the
hub keeps running while it is made.
"""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.db import connection, transaction
from psycopg2.extensions import make_dsn

from registry.errors import Invalid, Unavailable
from registry.tables import Blob, MLModel, User

#: Last lines of a tool's message that are passed on.
_LINES = 5


def engine() -> str:
    """``postgresql`` or ``sqlite``."""
    return connection.vendor


def database_dump(path: Path) -> None:
    """Write a dump of the database to the new file ``path``.

    Raises ``Unavailable`` ``hub_unavailable``: PostgreSQL's tool is missing or failed.
    """
    if connection.vendor == "postgresql":
        _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={path}")
        return
    with closing(sqlite3.connect(_sqlite_file())) as source, closing(sqlite3.connect(path)) as copy:
        source.backup(copy)
        # One file: no log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")


def database_load(path: Path) -> None:
    """Replace the empty database by the one in a dump.

    Raises ``Invalid`` ``invalid_request`` as :func:`require_empty`; ``Unavailable``
    ``hub_unavailable``: PostgreSQL's tool is missing or failed; the database is then without
    tables.
    """
    require_empty()
    if connection.vendor == "postgresql":
        _drop_tables()
        connection.close()
        _run(
            "pg_restore",
            *("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"),
            str(path),
        )
        return
    connection.close()
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(_sqlite_file())) as own:
        source.backup(own)


def require_empty() -> None:
    """Refuse a hub that has people or files. Raises ``Invalid`` ``invalid_request``."""
    names = set(connection.introspection.table_names())
    for table in (User, MLModel, Blob):
        if table._meta.db_table in names and table.objects.exists():  # noqa: SLF001
            raise Invalid(
                "invalid_request",
                "This hub is not empty.",
                "Restore into a new database and an empty data folder.",
            )


def _drop_tables() -> None:
    """Drop the tables of a hub that was migrated and not used."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f"DROP TABLE {connection.ops.quote_name(name)} CASCADE")


def _sqlite_file() -> str:
    return str(connection.settings_dict["NAME"])


def _run(program: str, *arguments: str) -> None:
    """Run a tool of PostgreSQL on the hub's database."""
    parameters = {
        key: value
        for key, value in connection.get_connection_params().items()
        if isinstance(value, str | int)
    }
    # Not on the command line, which other users of the machine see.
    password = parameters.pop("password", "")
    dsn = make_dsn(**parameters)
    try:
        process = subprocess.run(
            [program, f"--dbname={dsn}", *arguments],
            env=os.environ | {"PGPASSWORD": str(password)},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise Unavailable(
            "hub_unavailable",
            f"{program} is not installed.",
            "Install PostgreSQL's client programs, of the server's version or a newer one.",
        ) from None
    if process.returncode:
        lines = process.stderr.strip().splitlines()[-_LINES:]
        raise Unavailable("hub_unavailable", f"{program} failed: {' '.join(lines)}")


def check_engine(name: str) -> None:
    """Raises ``Invalid`` ``invalid_request`` for a dump of another kind of database."""
    if name != engine():
        raise Invalid(
            "invalid_request",
            f"The dump is of {name}, and this hub runs on {engine()}.",
            "Set DATABASE_URL to a database of the same kind.",
        )
