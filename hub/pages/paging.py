"""Lists too long for one page: newest first, continued after the last one shown."""

from typing import TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from registry.errors import Invalid

Row = TypeVar("Row", bound=Model)

_SHOWN = 30


def newest_first(
    rows: "QuerySet[Row]", request: HttpRequest, by: str = "id"
) -> tuple[list[Row], str]:
    """The rows of this page and the address of older ones, empty at the end.

    Keyset, not offset: a page stays the same while new rows arrive in front of it.
    """
    ordered = rows.order_by(f"-{by}")
    before = request.GET.get("before")
    if before:
        try:
            ordered = ordered.filter(**{f"{by}__lt": before})
        except (ValueError, ValidationError) as error:
            detail = f"No page begins before {before[:100]!r}."
            raise Invalid("invalid_cursor", detail, "Start from the first page.") from error
    shown = list(ordered[: _SHOWN + 1])
    if len(shown) <= _SHOWN:
        return shown, ""
    address = request.GET.copy()
    address["before"] = str(getattr(shown[_SHOWN - 1], by))
    return shown[:_SHOWN], f"?{address.urlencode()}"
