"""Addresses of the pages of an MLModel or a data set, and of the next page of a list.

Routes are named ``<kind>-<view>``; ``hub/pages/urls.py`` has one table for both kinds.
"""

from collections.abc import Sequence
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
    """``/ns/name/...`` or ``/datasets/ns/name/...``: the address of a page of ``mlmodel``.

    ``view`` is a name in ``hub/pages/urls.py``; ``places`` are further parts of the address, for
    files and folders the revision and the path.
    """
    if view in _OF_FILES:
        places = ("/".join(str(place) for place in places if place != ""),)
    return reverse(f"{mlmodel.kind}-{view}", args=[mlmodel.namespace.name, mlmodel.name, *places])


def download_address(mlmodel: MLModel, rev: str, path: str) -> str:
    """Download address of a file: ``resolve`` of the Hugging Face protocol."""
    return f"{address(mlmodel, 'card')}/resolve/{quote(rev, safe='')}/{quote(path)}"


def clone_address(mlmodel: MLModel) -> str:
    """Address for ``git clone``."""
    return f"{settings.HUB_URL}{address(mlmodel, 'card')}"


def topic_address(mlmodel: MLModel, facet: str, value: str) -> str:
    """The list of repositories with the same value: a facet of models, a word of data sets."""
    if mlmodel.kind == RepositoryKind.DATASET:
        return f"{reverse('datasets')}?{urlencode({'q': value})}"
    return f"{reverse('catalogue')}?{urlencode({facet: value})}"


def newest_first(
    rows: QuerySet[Row], request: HttpRequest, order: Sequence[str] = ("-id",)
) -> tuple[list[Row], str]:
    """The page of ``rows`` at the parameter ``before``, and the relative address of the next or "".

    ``order``: descending columns, unique together. Raises ``Invalid``: ``invalid_cursor``.
    """
    cursor = request.GET.get("before") or None
    page = keyset_page(rows, name=request.path, cursor=cursor, order=order)
    if page.next is None:
        return page.items, ""
    address = request.GET.copy()
    address["before"] = page.next
    return page.items, f"?{address.urlencode()}"
