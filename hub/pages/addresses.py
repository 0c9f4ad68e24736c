"""Addresses of what hangs on an MLModel or a data set: made here, and taken apart here.

Names of routes are ``<kind>-<view>``; ``hub/pages/urls.py`` lays the same table for both kinds.
"""

from urllib.parse import quote, urlencode

from django.conf import settings
from django.urls import reverse

from registry.selectors.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision


def address(mlmodel: MLModel, view: str, *places: object) -> str:
    """``/ns/name/...`` or ``/datasets/ns/name/...`` of one of its pages.

    Args:
        mlmodel: With its namespace.
        view: As in ``hub/pages/urls.py``.
        places: What the view wants further; revision, folders and file are joined by slashes.
    """
    joined = "/".join(str(place) for place in places if place != "")
    arguments = [mlmodel.namespace.name, mlmodel.name, *([joined] if joined else [])]
    return reverse(f"{mlmodel.kind}-{view}", args=arguments)


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


def revision_and_path(mlmodel: MLModel, place: str) -> tuple[str, Revision, str]:
    """What ``<revision>/<path>`` means, where a branch's name may hold slashes, too.

    Returns:
        The revision's name as given, the revision, and the path, "" if there is none. The longest
        beginning that names a branch, a tag or a pull request's line wins.

    Raises:
        NotFound: ``revision_not_found``.
    """
    parts = place.strip("/").split("/")
    beginnings = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    known = _names(mlmodel, beginnings)
    rev = next((name for name in beginnings if name in known), parts[0])
    return rev, revision_get(mlmodel, rev), place.strip("/")[len(rev) + 1 :]


def _names(mlmodel: MLModel, beginnings: list[str]) -> set[str]:
    """Those of ``beginnings`` that name a line or a tag."""
    prefixes = ("refs/heads/", "refs/tags/", "refs/pr/")
    bare = {
        name: next((name.removeprefix(p) for p in prefixes if name.startswith(p)), name)
        for name in beginnings
        if name.isprintable()
    }
    found = set(mlmodel.refs.filter(name__in=set(bare.values())).values_list("name", flat=True))
    return {name for name, short in bare.items() if short in found}
