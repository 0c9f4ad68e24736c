"""Persistent identifiers on the web (ARKs, draft-kunze-ark-41): where they lead.

``/ark:/NAAN/name`` and ``/ark:NAAN/name`` are the same. They lead to the page of what they name,
which answers in what ``Accept`` asks for; with ``?info`` they tell of themselves instead.
"""

from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_safe

from hub.credentials import actor_of
from hub.fair.tombstone import tombstone
from hub.refusals import refusing
from registry.errors import NotFound
from registry.fair import erc
from registry.fair.addresses import RepositoryAddress
from registry.selectors.access import Actor
from registry.selectors.fair.description import describe
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import (
    ResolvedIdentifier,
    identifier_get,
    pid_url,
    withdrawn_get,
)
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.selectors.repository.revision import revision_get
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import MLModel

# What is left of ``??``, the older way to ask for ``?info``.
_OLD_INFO = "?"


@require_safe
@refusing
def resolve(request: HttpRequest, text: str) -> HttpResponseBase:
    """Lead to what is named so, or to what is left of it."""
    actor = actor_of(request)
    found = identifier_get(actor, text.rstrip("/"))
    response: HttpResponse
    if "info" in request.GET or request.META.get("QUERY_STRING") == _OLD_INFO:
        response = _info(found)
    elif (place := _place(actor, found)) is not None:
        response = HttpResponseRedirect(place)
    else:
        response = tombstone(request, found)
    # It may be withdrawn or hidden at any time.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    return response


def _info(found: ResolvedIdentifier) -> HttpResponse:
    description = found.description or describe(found.revision or revision_get(_living(found)))
    pid = pid_url(found.identifier.name)
    body = erc.render(description, pid=pid, minted=found.identifier.minted_at)
    return HttpResponse(body, content_type=erc.MEDIA_TYPE)


def _place(actor: Actor, found: ResolvedIdentifier) -> str | None:
    """Path of the page that shows what was found; ``None`` where something else is there now."""
    if found.description is None:
        mlmodel, revision = _living(found), found.revision
        place = repository_address(mlmodel)
        return _path(place.version(revision.oid) if revision else place.concept)
    if found.mlmodel is not None:
        return _path(repository_address(found.mlmodel).version(found.identifier.oid))
    return _place_of_gone(actor, found)


def _place_of_gone(actor: Actor, found: ResolvedIdentifier) -> str | None:
    row = found.identifier
    kind = RepositoryKind(row.repository_kind)
    oid = row.oid if row.kind == IdentifierKind.VERSION else None
    left = withdrawn_get(kind, row.full_name, oid)
    if left is None or left.identifier != row or _is_taken(actor, kind, row.full_name):
        return None
    place = RepositoryAddress(
        settings.HUB_URL, "dataset" if kind == "dataset" else "model", row.full_name
    )
    return _path(place.version(oid) if oid else place.concept)


def _is_taken(actor: Actor, kind: RepositoryKind, full_name: str) -> bool:
    """Whether ``actor`` finds something else at ``full_name``."""
    try:
        repository_get(actor, kind, full_name)
    except NotFound:
        return repository_moved(actor, kind, full_name) is not None
    return True


def _living(found: ResolvedIdentifier) -> MLModel:
    assert found.mlmodel is not None  # noqa: S101 - what is not withdrawn is there
    return found.mlmodel


def _path(url: str) -> str:
    """The address without its host: whoever reached the hub by another name stays there."""
    return quote(url.removeprefix(settings.HUB_URL), safe="/?=&%:@")
