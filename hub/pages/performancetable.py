"""The table of all groups of a profile: rows, orders, pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest

from hub.pages.inspector import InspectorLinks
from registry.selectors.analysis.performance import Group, Performance
from registry.tables import MLModel

_ROWS = 50


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in a table: its label, and operations per second if they are known.

    Addresses are made where they are shown: a profile may have thousands of groups.
    """

    group: Group
    label: str
    links: InspectorLinks

    @property
    def rate(self) -> float | None:
        return self.group.rate

    @property
    def page(self) -> str:
        return self.links.page()

    @property
    def fragment(self) -> str:
        return self.links.fragment()


#: Columns by which the table of groups is sorted; a minus in front reverses.
_SORTS: dict[str, Callable[[GroupRow], Any]] = {
    "share": lambda row: (row.group.share, -row.group.sequence),
    "spread": lambda row: (row.group.spread, -row.group.sequence),
    "rate": lambda row: (row.rate or 0.0, -row.group.sequence),
    "order": lambda row: (row.group.sequence,),
    "name": lambda row: (row.label.lower(), row.group.sequence),
    "precision": lambda row: (row.group.site.precision, row.group.sequence),
}
_DEFAULT_SORT = "-share"


def group_rows(mlmodel: MLModel, subject: Performance, revision: str) -> list[GroupRow]:
    """The groups of a profile in the order of execution; ``revision`` as in the address."""
    build = str(subject.build.uuid)
    return [
        GroupRow(
            one,
            subject.label(one),
            InspectorLinks(mlmodel, build, one.sequence, revision, beside=True),
        )
        for one in subject.groups
    ]


def has_rates(rows: Sequence[GroupRow]) -> bool:
    """Whether the operations per second of a group are known."""
    return any(row.rate is not None for row in rows)


def ordered(request: HttpRequest, rows: Sequence[GroupRow]) -> tuple[str, Any]:
    """The order that the address asks for, and the page of the rows in it."""
    sort = request.GET.get("sort", _DEFAULT_SORT)
    if sort.removeprefix("-") not in _SORTS:
        sort = _DEFAULT_SORT
    key = _SORTS[sort.removeprefix("-")]
    in_order = sorted(rows, key=key, reverse=sort.startswith("-"))
    return sort, Paginator(in_order, _ROWS).get_page(request.GET.get("page"))


def columns(request: HttpRequest, sort: str, *, with_rates: bool) -> list[dict[str, Any]]:
    """Heads of the table: title, address that sorts by it, and how it is sorted now."""
    titles = {
        "order": ("Call", False), "name": ("Operators", False), "share": ("Time and share", True),
        "spread": ("Spread", True), "rate": ("Rate", True), "precision": ("Precision", False),
    }  # fmt: skip
    heads = []
    for key, (title, is_number) in titles.items():
        if key == "rate" and not with_rates:
            continue
        now = sort.removeprefix("-") == key
        down = sort.startswith("-") if now else not is_number
        heads.append(
            {
                "title": title,
                "is_number": is_number,
                "order": ("descending" if sort.startswith("-") else "ascending") if now else "",
                "address": address_with(request, sort=key if down else f"-{key}", page="")
                + "#groups",
            }
        )
    return heads


def address_with(request: HttpRequest, **changes: str) -> str:
    """The address of the page with other parameters; empty ones are left out."""
    query = {key: request.GET[key] for key in request.GET} | changes
    return "?" + urlencode({key: value for key, value in query.items() if value})
