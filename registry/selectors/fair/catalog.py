"""Pages of the catalogue: all public repositories, oldest first."""

from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from registry.selectors.access import readable_repositories
from registry.tables import MLModel

#: Upper bound on an exact number of records; larger ones are not counted.
MAX_COUNT = 10_000


class ListedPages(NamedTuple):
    """Numbers of pages with repositories; ``None`` if there is none."""

    first: int
    last: int
    previous: int | None
    next: int | None


def listed(number: int, at_once: int) -> list[MLModel]:
    """Page ``number`` (from 1) of all public repositories, oldest first, with namespaces.

    A page holds ``at_once`` consecutive keys, so that a repository always stays on its page, and no
    page costs more than the first one. Private and deleted repositories leave gaps.
    """
    end = number * at_once
    rows = _public().filter(pk__gt=end - at_once, pk__lte=end)
    return list(rows.select_related("namespace").order_by("pk"))


def listed_pages(number: int, at_once: int) -> ListedPages:
    """The pages of :func:`listed` around ``number`` that are not empty."""
    keys = _public().values_list("pk", flat=True)
    end = number * at_once
    first, last = keys.order_by("pk").first(), keys.order_by("-pk").first()
    before = keys.filter(pk__lte=end - at_once).order_by("-pk").first()
    behind = keys.filter(pk__gt=end).order_by("pk").first()

    def page_of(pk: int | None) -> int | None:
        return None if pk is None else (pk - 1) // at_once + 1

    return ListedPages(page_of(first) or 1, page_of(last) or 1, page_of(before), page_of(behind))


def listed_count() -> int | None:
    """Number of all public repositories; ``None`` if there are more than :data:`MAX_COUNT`."""
    count = _public()[: MAX_COUNT + 1].count()
    return count if count <= MAX_COUNT else None


def _public() -> QuerySet[MLModel]:
    return readable_repositories(AnonymousUser())
