"""Addresses of what hangs on an MLModel or a data set.

Names of routes are ``<kind>-<view>``; ``hub/pages/urls.py`` lays the same table for both kinds.
"""

from typing import TypeVar
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from registry.pagination import keyset_page
from registry.states import RepositoryKind
from registry.tables import MLModel

Row = TypeVar("Row", bound=Model)

_OF_FILES = {"tree", "blob", "raw"}


def address(mlmodel: MLModel, view: str, *places: object) -> str:
    """``/ns/name/...`` or ``/datasets/ns/name/...`` of one of its pages.

    Args:
        mlmodel: With its namespace.
        view: As in ``hub/pages/urls.py``.
        places: What the view wants further. Of files and folders: the revision and the path.
    """
    if view in _OF_FILES:
        places = ("/".join(str(place) for place in places if place != ""),)
    return reverse(f"{mlmodel.kind}-{view}", args=[mlmodel.namespace.name, mlmodel.name, *places])


def download_address(mlmodel: MLModel, rev: str, path: str) -> str:
    """Where clients and people fetch a file: the Hugging Face protocol's ``resolve``."""
    return f"{address(mlmodel, 'card')}/resolve/{quote(rev, safe='')}/{quote(path)}"


def clone_address(mlmodel: MLModel) -> str:
    """What ``git clone`` takes."""
    return f"{settings.HUB_URL}{address(mlmodel, 'card')}"


def topic_address(mlmodel: MLModel, facet: str, value: str) -> str:
    """Where others like it in one respect are listed: the catalogue has facets, data sets words."""
    if mlmodel.kind == RepositoryKind.DATASET:
        return f"{reverse('datasets')}?{urlencode({'q': value})}"
    return f"{reverse('catalogue')}?{urlencode({facet: value})}"


def newest_first(
    rows: QuerySet[Row], request: HttpRequest, by: str = "id"
) -> tuple[list[Row], str]:
    """The page of ``rows`` that the parameter ``before`` asks for, and the address of the next.

    Args:
        by: Unique column that grows with time.

    Returns:
        The rows, and the relative address of the page with older ones; "" on the last page.

    Raises:
        Invalid: ``invalid_cursor``.
    """
    cursor = request.GET.get("before") or None
    page = keyset_page(rows, name=request.path, cursor=cursor, order=(f"-{by}",))
    if page.next is None:
        return page.items, ""
    address = request.GET.copy()
    address["before"] = page.next
    return page.items, f"?{address.urlencode()}"
