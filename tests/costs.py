"""What a piece of work costs the database and Python: statements, and rows that are read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.db.models.sql import compiler


@dataclass
class Costs:
    """Numbers of statements and of rows that queries of the ORM returned."""

    statements: int = 0
    rows: int = 0


@contextmanager
def costs_of() -> Iterator[Costs]:
    """Counts until the block ends."""
    costs = Costs()
    read = compiler.cursor_iter

    def counted(*args: Any) -> Iterator[Any]:
        for rows in read(*args):
            costs.rows += len(rows)
            yield rows

    def executed(execute: Callable[..., Any], *args: Any) -> Any:
        costs.statements += 1
        return execute(*args)

    with patch.object(compiler, "cursor_iter", counted), connection.execute_wrapper(executed):
        yield costs
