"""What an address below ``/namespace/name`` is about: a version, or what is left of one."""

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
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel, Revision

View = Callable[..., HttpResponseBase]
# What is left is for everybody.
_LEFT = "public, no-cache"


def version_view(view: View) -> View:
    """Give ``view`` the revision that its address names, in place of the names.

    ``view(request, revision, **rest)``, for GET and HEAD, asked by session or token; the revision
    comes with its MLModel and namespace. Of what was withdrawn the answer is its tombstone. Who
    comes by the name of one that was moved is led to where it is now.
    """

    @wraps(view)
    def found(
        request: HttpRequest, /, kind: RepositoryKind, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        subject = _subject(request, kind, f"{namespace}/{name}")
        if isinstance(subject, MLModel):
            return _led_on(request, subject)
        if isinstance(subject, ResolvedIdentifier):
            return tombstone(request, subject)
        return view(request, subject, **rest)

    return require_safe(refusing(found))


def description_view(view: View) -> View:
    """Give ``view`` the description of the version that its address names, withdrawn or not.

    ``view(request, description, cache_control=..., **rest)``; else like :func:`version_view`.
    """

    @wraps(view)
    def found(
        request: HttpRequest, /, kind: RepositoryKind, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        subject = _subject(request, kind, f"{namespace}/{name}")
        if isinstance(subject, MLModel):
            return _led_on(request, subject)
        if isinstance(subject, ResolvedIdentifier):
            return view(request, subject.description, cache_control=_LEFT, **rest)
        cache_control = caching(subject.mlmodel, fixed=False)
        return view(request, describe(subject), cache_control=cache_control, **rest)

    return require_safe(refusing(found))


def _subject(
    request: HttpRequest, kind: RepositoryKind, full_name: str
) -> Revision | ResolvedIdentifier | MLModel:
    """The version, what is left of it, or what moved away from ``full_name``.

    Raises:
        NotFound: ``model_not_found``, ``dataset_not_found`` or ``revision_not_found``.
    """
    actor, rev = actor_of(request), request.GET.get("revision") or None
    mlmodel = None
    try:
        mlmodel = repository_get(actor, kind, full_name)
        revision = revision_get(mlmodel, rev)
    except NotFound:
        moved = repository_moved(actor, kind, full_name) if mlmodel is None else None
        left = moved or withdrawn_get(kind, full_name, rev, mlmodel=mlmodel)
        if left is None:
            raise
        return left
    # The row in hand, which has its namespace.
    revision.mlmodel = mlmodel
    return revision


def _led_on(request: HttpRequest, moved: MLModel) -> HttpResponseBase:
    place = repository_address(moved)
    # Of the address as it was sent: what is escaped in it must stay so.
    tail = request.get_full_path().split("/", 4 if place.kind == "dataset" else 3)[-1]
    return HttpResponseRedirect(f"{place.concept.removeprefix(place.hub)}/{tail}")
