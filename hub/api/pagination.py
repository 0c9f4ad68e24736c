"""Keyset pages: ``{"items": [...], "next": cursor | null}``.

A cursor holds the sort keys of the last row sent, so the next page starts right behind that row
however many rows came or went meanwhile, and page one thousand costs what page one costs. It is
signed and bound to its list: what comes back is what was given out, never someone's SQL operand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from registry.errors import Invalid

Row = TypeVar("Row", bound=Model)

LIMIT_DEFAULT = 30


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows of a list, and where the following ones begin."""

    items: list[Row]
    next: str | None


def keyset_page(
    rows: QuerySet[Row],
    *,
    name: str,
    cursor: str | None,
    limit: int = LIMIT_DEFAULT,
    order: Sequence[str] = ("-id",),
) -> Page[Row]:
    """The page of ``rows`` behind ``cursor``.

    Args:
        name: The list's own name; a cursor of one list is refused by another.
        order: Columns, ``-`` for descending, none of them null; together they must be unique.

    Raises:
        Invalid: ``invalid_cursor``.
    """
    if cursor is not None:
        rows = rows.filter(_behind(order, _read(cursor, name, rows, order)))
    found = list(rows.order_by(*order)[: limit + 1])
    items = found[:limit]
    if len(found) <= limit:
        return Page(items, None)
    return Page(items, _written([getattr(items[-1], c.lstrip("-")) for c in order], name))


def _salt(name: str) -> str:
    return f"hub.api.pagination.{name}"


def _written(keys: list[Any], name: str) -> str:
    # ISO text keeps microseconds; a cursor that lost them would skip or repeat rows.
    plain = [key.isoformat() if isinstance(key, datetime) else key for key in keys]
    return signing.dumps(plain, salt=_salt(name))


def _read(cursor: str, name: str, rows: QuerySet[Row], order: Sequence[str]) -> list[Any]:
    try:
        values = signing.loads(cursor, salt=_salt(name))
    except signing.BadSignature:
        values = []
    if len(values) != len(order):
        raise Invalid(
            "invalid_cursor",
            "The cursor is not one this list gave out.",
            "Start again without a cursor, or send `next` of the last page unchanged.",
            fields={"cursor": "not a cursor of this list"},
        )
    fields = {field.name: field for field in rows.model._meta.concrete_fields}  # noqa: SLF001
    return [
        fields[column.lstrip("-")].to_python(value)
        for column, value in zip(order, values, strict=True)
    ]


def _behind(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Rows after ``values``: (a > x) or (a = x and b > y), turned round where descending."""
    behind, equal = Q(), Q()
    for column, value in zip(order, values, strict=True):
        name = column.lstrip("-")
        compare = "lt" if column.startswith("-") else "gt"
        behind |= equal & Q(**{f"{name}__{compare}": value})
        equal &= Q(**{name: value})
    return behind
