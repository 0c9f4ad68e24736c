"""Atom feeds of changes: of the hub, of a namespace, and of the versions of a repository.

They contain public records only and are the same for every reader.
"""

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from hub.fair.public import public
from hub.fair.subject import version_view
from hub.refusals import refusing
from registry.errors import NotFound
from registry.fair import atom
from registry.fair.addresses import namespace_url
from registry.pagination import decode_cursor, encode_cursor, invalid_cursor
from registry.selectors.fair.changes import (
    ChangeCursor,
    ChangesPart,
    changes_part,
    versions_part,
)
from registry.selectors.fair.hub import repository_address, this_hub
from registry.selectors.people.account import namespace_get
from registry.selectors.repository.revision import revision_get
from registry.states import Visibility
from registry.tables import Revision

#: Entries on one page.
AT_ONCE = 50

_Read = Callable[[ChangeCursor | None], ChangesPart]


@require_safe
@refusing
def changes(request: HttpRequest) -> HttpResponse:
    """The feed of all public repositories, latest change first."""
    hub = this_hub()
    title, page = f"Changes on {hub.name}", f"{hub.url}/catalog"
    return _feed(request, title, page, lambda after: changes_part(after=after, limit=AT_ONCE))


@require_safe
@refusing
def new(request: HttpRequest) -> HttpResponse:
    """The feed of all public repositories, newest first."""
    hub = this_hub()
    return _feed(
        request,
        f"New on {hub.name}",
        f"{hub.url}/catalog",
        lambda after: changes_part(by_creation=True, after=after, limit=AT_ONCE),
    )


@require_safe
@refusing
def of_namespace(request: HttpRequest, namespace: str) -> HttpResponse:
    """The feed of the public repositories of a person or an organisation, latest change first."""
    owner, hub = namespace_get(AnonymousUser(), namespace), this_hub()
    return _feed(
        request,
        f"Changes of {owner.name} on {hub.name}",
        namespace_url(hub.url, owner.name),
        lambda after: changes_part(owner, after=after, limit=AT_ONCE),
    )


@version_view
def versions(request: HttpRequest, revision: Revision) -> HttpResponseBase:
    """The feed of the versions of a public repository, newest first."""
    mlmodel = revision.mlmodel
    if mlmodel.visibility != Visibility.PUBLIC:
        raise NotFound(
            "page_not_found",
            f"{mlmodel.full_name} is private and has no feed.",
            "Only public repositories have feeds.",
        )
    head = revision_get(mlmodel)
    return _feed(
        request,
        f"Versions of {mlmodel.full_name}",
        repository_address(mlmodel).concept,
        lambda after: versions_part(mlmodel, head, after=after, limit=AT_ONCE),
    )


def _feed(request: HttpRequest, title: str, page: str, read: _Read) -> HttpResponse:
    """One page of a feed; 304 if the client has it."""
    hub, cursor = this_hub(), request.GET.get("cursor") or None
    first = f"{hub.url}{request.path}"
    part = read(_position(cursor, request.path) if cursor else None)
    older = encode_cursor(part.last, request.path) if part.last else None
    document = atom.FeedPage(
        title=title,
        page=page,
        url=_page_url(first, cursor),
        first=first,
        updated=part.modified or timezone.now(),
        next=_page_url(first, older) if older else None,
    )
    data = atom.feed(hub, document, part.entries)
    return public(request, data, f"{atom.MEDIA_TYPE}; charset=utf-8", modified=part.modified)


def _page_url(first: str, cursor: str | None) -> str:
    return f"{first}?{urlencode({'cursor': cursor})}" if cursor else first


def _position(cursor: str, name: str) -> ChangeCursor:
    """Raises ``Invalid``: ``invalid_cursor``."""
    try:
        at, is_gone, pk = decode_cursor(cursor, name)
    except ValueError:
        raise invalid_cursor() from None
    return ChangeCursor(datetime.fromisoformat(at), is_gone, pk)
