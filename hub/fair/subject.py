"""Resolution of addresses below ``/namespace/name`` to a version or a kept record."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from hub.credentials import actor_of
from hub.fair.tombstone import tombstone
from hub.files import caching
from hub.refusals import refusing
from registry.errors import NotFound
from registry.selectors.fair.description import describe
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import ResolvedIdentifier, withdrawn_get
from registry.selectors.repository.mlmodel import (
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision

View = Callable[..., HttpResponseBase]
# Kept records are public.
_WITHDRAWN_CACHING = "public, no-cache"


def version_view(view: View) -> View:
    """Decorate ``view(request, revision, **rest)`` for GET and HEAD, by session or token.

    The revision has its MLModel and namespace loaded. Withdrawn versions are answered with their
    tombstone, names of moved repositories with a redirect, also after another took the name where
    the version is of the moved one.
    """

    @wraps(view)
    def wrapper(
        request: HttpRequest, /, kind: RepositoryKind, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        subject = _subject(request, kind, f"{namespace}/{name}")
        if isinstance(subject, MLModel):
            return _redirect(request, subject)
        if isinstance(subject, ResolvedIdentifier):
            return tombstone(request, subject)
        return view(request, subject, **rest)

    return require_safe(refusing(wrapper))


def description_view(view: View) -> View:
    """Like :func:`version_view`, with a description; withdrawn versions reach the view as well."""

    @wraps(view)
    def wrapper(
        request: HttpRequest, /, kind: RepositoryKind, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        subject = _subject(request, kind, f"{namespace}/{name}")
        if isinstance(subject, MLModel):
            return _redirect(request, subject)
        if isinstance(subject, ResolvedIdentifier):
            return view(request, subject.description, cache_control=_WITHDRAWN_CACHING, **rest)
        cache_control = caching(subject.mlmodel, fixed=False)
        return view(request, describe(subject), cache_control=cache_control, **rest)

    return require_safe(refusing(wrapper))


def _subject(
    request: HttpRequest, kind: RepositoryKind, full_name: str
) -> Revision | ResolvedIdentifier | MLModel:
    """The version, its kept record, or the repository that moved away from ``full_name``."""
    actor, rev = actor_of(request), request.GET.get("revision") or None
    mlmodel = None
    try:
        mlmodel = repository_get(actor, kind, full_name)
        revision = revision_get(mlmodel, rev)
    except NotFound:
        if mlmodel is None:
            moved = repository_moved(actor, kind, full_name)
        else:
            moved = repository_replaced(actor, kind, full_name, rev or "")
        subject = moved or withdrawn_get(kind, full_name, rev, mlmodel=mlmodel)
        if subject is None:
            raise
        return subject
    # Avoids a query: this row has its namespace.
    revision.mlmodel = mlmodel
    return revision


def _redirect(request: HttpRequest, moved: MLModel) -> HttpResponseBase:
    address = repository_address(moved)
    # The address as sent preserves escapes.
    tail = request.get_full_path().split("/", 4 if address.kind == "dataset" else 3)[-1]
    return HttpResponseRedirect(f"{address.concept.removeprefix(address.hub)}/{tail}")
