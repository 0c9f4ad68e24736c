"""Queries that end without a result: PostgreSQL's time limit, SQLite's wait for the write lock."""

import sqlite3
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from registry.errors import Unavailable

#: SQLSTATE of a query that the server ended, such as after ``statement_timeout``.
_QUERY_CANCELED = "57014"


def limit_statements() -> None:
    """Limit the queries of this process to ``HPCFAIR_STATEMENT_SECONDS``. Call it before any query.

    Without a limit a query goes on after its client has left. For web servers only: the queries of
    workers, commands and migrations may take long.
    """
    database = connections.settings["default"]
    if database["ENGINE"] == "django.db.backends.postgresql":
        options = database["OPTIONS"].get("options", "")
        limit = f"-c statement_timeout={settings.STATEMENT_S}s"
        database["OPTIONS"]["options"] = f"{options} {limit}".strip()


def watch_queries(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Receiver of ``connection_created``: an ended query raises ``query_timeout``, and a write that
    waited too long for others ``database_busy``."""
    if _translate not in connection.execute_wrappers:
        connection.execute_wrappers.append(_translate)


def _translate(execute: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return execute(*arguments)
    except OperationalError as error:
        if getattr(error.__cause__, "pgcode", None) == _QUERY_CANCELED:
            raise Unavailable(
                "query_timeout",
                "The database did not answer in time.",
                "Ask for less, such as a shorter page or a narrower filter, or try again later.",
            ) from error
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise Unavailable(
                "database_busy",
                "Too many others write to the database.",
                "Try again. A hub with this many users or devices needs PostgreSQL.",
            ) from error
        raise
