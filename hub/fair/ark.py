"""Resolution of persistent identifiers (ARKs, draft-kunze-ark-41).

``/ark:/NAAN/name`` and ``/ark:NAAN/name`` are equivalent. They redirect to the page of their
target, which supports content negotiation; ``?info`` returns a citation and persistence statement.
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

# Query string of ``??``, the older form of ``?info``.
_OLD_INFO = "?"


@require_safe
@refusing
def resolve(request: HttpRequest, text: str) -> HttpResponseBase:
    """Redirect to the target, or answer with its kept record."""
    actor = actor_of(request)
    target = identifier_get(actor, text.rstrip("/"))
    response: HttpResponse
    if "info" in request.GET or request.META.get("QUERY_STRING") == _OLD_INFO:
        response = _info(target)
    elif (path := _page_path(actor, target)) is not None:
        response = HttpResponseRedirect(path)
    else:
        response = tombstone(request, target)
    # The target may be withdrawn or hidden at any time.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    return response


def _info(target: ResolvedIdentifier) -> HttpResponse:
    description = target.description or describe(target.revision or revision_get(_living(target)))
    pid = pid_url(target.identifier.name)
    body = erc.render(description, pid=pid, minted=target.identifier.minted_at)
    return HttpResponse(body, content_type=erc.MEDIA_TYPE)


def _page_path(actor: Actor, target: ResolvedIdentifier) -> str | None:
    """Path of the target's page; ``None`` if its address belongs to something else now."""
    if target.description is None:
        mlmodel, revision = _living(target), target.revision
        address = repository_address(mlmodel)
        return _path(address.version(revision.oid) if revision else address.concept)
    if target.mlmodel is not None:
        return _path(repository_address(target.mlmodel).version(target.identifier.oid))
    return _withdrawn_path(actor, target)


def _withdrawn_path(actor: Actor, target: ResolvedIdentifier) -> str | None:
    row = target.identifier
    kind = RepositoryKind(row.repository_kind)
    oid = row.oid if row.kind == IdentifierKind.VERSION else None
    withdrawn = withdrawn_get(kind, row.full_name, oid)
    if withdrawn is None or withdrawn.identifier != row:
        return None
    if _is_reused(actor, kind, row.full_name):
        return None
    address = RepositoryAddress(
        settings.HUB_URL, "dataset" if kind == "dataset" else "model", row.full_name
    )
    return _path(address.version(oid) if oid else address.concept)


def _is_reused(actor: Actor, kind: RepositoryKind, full_name: str) -> bool:
    try:
        repository_get(actor, kind, full_name)
    except NotFound:
        return repository_moved(actor, kind, full_name) is not None
    return True


def _living(target: ResolvedIdentifier) -> MLModel:
    assert target.mlmodel is not None  # noqa: S101 - only withdrawn targets have none
    return target.mlmodel


def _path(url: str) -> str:
    """The address without its host, so that users stay on the host name that they used."""
    return quote(url.removeprefix(settings.HUB_URL), safe="/?=&%:@")
