"""Keyset pagination of every long list: API, pages, Hugging Face protocol and OAI-PMH.

A cursor holds the sort keys of the last row of a page. The next page starts behind that row,
however many rows were added or deleted in between, and costs as much as the first one. Cursors are
opaque text, signed and bound to one list: a forged one, or one of another list, is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import BooleanField, F, Func, Model, Q, QuerySet, Value

from registry.errors import Invalid

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)

LIMIT_DEFAULT = 30

# DANGER: part of the signature of cursors that clients hold.
_SALT = "hub.api.pagination"


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; ``next`` is the cursor of the next page, ``None`` on the last one."""

    items: list[Item]
    next: str | None


def keyset_page(
    rows: QuerySet[Row],
    *,
    name: str,
    cursor: str | None,
    limit: int = LIMIT_DEFAULT,
    order: Sequence[str] = ("-id",),
) -> Page[Row]:
    """The first ``limit`` rows, or those that follow ``cursor``.

    Raises ``Invalid``: ``invalid_cursor``.

    Args:
        name: Name of the list. A cursor is valid for the list of this name only.
        cursor: ``next`` of the page before; ``None`` for the first page.
        order: Columns that are never null, ``-`` for descending; together they must be unique.
    """
    if cursor is not None:
        rows = rows.filter(_after(order, _values(decode_cursor(cursor, name), rows, order)))
    items = list(rows.order_by(*order)[: limit + 1])
    if len(items) <= limit:
        return Page(items, None)
    keys = [getattr(items[limit - 1], column.lstrip("-")) for column in order]
    return Page(items[:limit], encode_cursor(keys, name))


def encode_cursor(keys: Sequence[Any], name: str) -> str:
    """A cursor of the list ``name`` that holds ``keys``: JSON values and times."""
    # ISO text keeps microseconds; a cursor that lost them would skip or repeat rows.
    values = [key.isoformat() if isinstance(key, datetime) else key for key in keys]
    return signing.dumps(values, salt=f"{_SALT}.{name}")


def decode_cursor(cursor: str, name: str) -> list[Any]:
    """The keys of a cursor of the list ``name``, times as ISO 8601 text.

    Raises ``Invalid``: ``invalid_cursor``.
    """
    try:
        values: list[Any] = signing.loads(cursor, salt=f"{_SALT}.{name}")
    except signing.BadSignature:
        raise invalid_cursor() from None
    return values


def invalid_cursor() -> Invalid:
    """The refusal of a cursor that this list did not issue."""
    return Invalid(
        "invalid_cursor",
        "The page cursor was not issued by this list.",
        "Start again without a cursor, or send that of the last page unchanged.",
        fields={"cursor": "not a cursor of this list"},
    )


def row_after(columns: Sequence[str], values: Sequence[Any], *, descending: bool = False) -> Func:
    """``(a, b) > (x, y)``, or ``<``: the rows behind a position in the order of ``columns``.

    Databases begin such a comparison in the middle of an index, however many rows equal ``x``.

    Args:
        columns: Names of columns that are never null.
        values: Keys of the position.
    """
    row = Func(*map(F, columns), template="(%(expressions)s)")
    position = Func(*map(Value, values), template="(%(expressions)s)")
    return Func(
        row,
        position,
        template="%(expressions)s",
        arg_joiner=" < " if descending else " > ",
        output_field=BooleanField(),
    )


def _values(keys: list[Any], rows: QuerySet[Row], order: Sequence[str]) -> list[Any]:
    if len(keys) != len(order):
        raise invalid_cursor()
    fields = {
        name: field
        for field in rows.model._meta.concrete_fields  # noqa: SLF001
        for name in (field.name, field.attname)
    }
    return [
        fields[column.lstrip("-")].to_python(key) for column, key in zip(order, keys, strict=True)
    ]


def _after(order: Sequence[str], values: Sequence[Any]) -> Q | Func:
    """The rows behind ``values``."""
    directions = {column.startswith("-") for column in order}
    if len(order) > 1 and len(directions) == 1:
        names = [column.lstrip("-") for column in order]
        return row_after(names, values, descending=True in directions)
    return _after_mixed(order, values)


def _after_mixed(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Rows after ``values``: (a > x) or (a = x and b > y), with < for a descending column."""
    after, equal = Q(), Q()
    for column, value in zip(order, values, strict=True):
        name = column.lstrip("-")
        compare = "lt" if column.startswith("-") else "gt"
        after |= equal & Q(**{f"{name}__{compare}": value})
        equal &= Q(**{name: value})
    # Implied by the above, but only a plain bound lets databases begin in the middle of an index.
    first, compare = order[0].lstrip("-"), "lte" if order[0].startswith("-") else "gte"
    return Q(**{f"{first}__{compare}": values[0]}) & after
