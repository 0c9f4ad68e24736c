"""``/oai``: OAI-PMH 2.0 for harvesters of the public records.

Answers do not depend on the user. A resumption token contains the state of its list; it is signed,
does not expire, and stays valid when records change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from hub.fair.headers import harmless
from hub.headers import shared
from registry.errors import Invalid, NotFound
from registry.fair.oai.payloads import PAYLOADS
from registry.fair.oai.provider import ListPart, OaiRecord, Provider, Repository, refusal
from registry.fair.oai.request import OaiError, parse
from registry.pagination import decode_cursor, encode_cursor
from registry.selectors.fair.harvest import (
    HarvestCursor,
    HarvestPart,
    HarvestSelection,
    harvest_begin,
    harvest_count,
    harvest_get,
    harvest_part,
)
from registry.selectors.fair.hub import this_hub
from registry.states import RepositoryKind

#: Records in one answer, with their metadata and without.
AT_ONCE = {"ListRecords": 100, "ListIdentifiers": 1000}
_KINDS = {f"{kind}s": kind for kind in RepositoryKind}


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def oai(request: HttpRequest) -> HttpResponse:
    """Answer one request; errors of the protocol have status 200."""
    query = request.POST if request.method == "POST" else request.GET
    pairs = [(str(name), str(value)) for name, values in query.lists() for value in values]
    repository, now = _repository(), timezone.now()
    try:
        arguments = parse(pairs, PAYLOADS)
        data = _ANSWERS[arguments.verb](Provider(repository, arguments, now))
    except OaiError as error:
        data = refusal(error, repository, now, dict(pairs))
    response = shared(harmless(HttpResponse(data, content_type="text/xml; charset=utf-8")))
    response.headers["Cache-Control"] = "no-cache"
    return response


def _repository() -> Repository:
    hub = this_hub()
    return Repository(
        name=hub.name,
        base_url=f"{hub.url}/oai",
        emails=(settings.PUBLISHER_EMAIL or _postmaster(hub.url),),
        earliest=harvest_begin(),
    )


def _postmaster(url: str) -> str:
    """The required mailbox of the host (RFC 2142), for hubs without a configured address."""
    host = urlsplit(url).hostname or ""
    # Harvesters require a dot in the host name.
    return f"postmaster@{host if '.' in host else f'{host}.invalid'}"


def _list_metadata_formats(provider: Provider) -> bytes:
    if provider.request.identifier is not None:
        # Raises for unknown records; all others are available in each format.
        _get(provider.request.identifier)
    return provider.list_metadata_formats()


def _list_sets(provider: Provider) -> bytes:
    if provider.request.token is not None:
        raise _bad_token()
    return provider.list_sets()


def _get_record(provider: Provider) -> bytes:
    request = provider.request
    return provider.get_record(_get(request.identifier or ""), request.prefix or "")


def _list_records(provider: Provider) -> bytes:
    state, part = _next(provider)
    return provider.list_records(part.records, state.prefix, _page(provider, state, part))


def _list_identifiers(provider: Provider) -> bytes:
    state, part = _next(provider)
    return provider.list_identifiers(part.records, _page(provider, state, part))


_ANSWERS: dict[str, Callable[[Provider], bytes]] = {
    "Identify": Provider.identify,
    "ListMetadataFormats": _list_metadata_formats,
    "ListSets": _list_sets,
    "GetRecord": _get_record,
    "ListRecords": _list_records,
    "ListIdentifiers": _list_identifiers,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListState:
    """A list that is split over several answers; ``total`` is its length when it began, if it
    was counted."""

    prefix: str
    selection: HarvestSelection
    after: HarvestCursor | None = None
    sent: int = 0
    total: int | None = 0


def _get(identifier: str) -> OaiRecord:
    try:
        return harvest_get(identifier)
    except NotFound as error:
        raise OaiError("idDoesNotExist", error.detail) from error


def _next(provider: Provider) -> tuple[_ListState, HarvestPart]:
    state = _state_of(provider)
    verb = provider.request.verb
    part = harvest_part(
        state.selection, after=state.after, limit=AT_ONCE[verb], is_whole=verb == "ListRecords"
    )
    return state, part


def _state_of(provider: Provider) -> _ListState:
    request = provider.request
    if request.token is not None:
        return _decode(request.token, request.verb)
    kind = None
    if request.set_spec is not None:
        kind = _KINDS.get(request.set_spec)
        if kind is None:
            raise OaiError("noRecordsMatch", "There is no such set.")
    selection = HarvestSelection(kind=kind, since=request.since, until=request.until)
    total = harvest_count(selection)
    return _ListState(prefix=request.prefix or "", selection=selection, total=total)


def _page(provider: Provider, state: _ListState, part: HarvestPart) -> ListPart | None:
    if part.last is None and not state.sent:
        return None
    verb = provider.request.verb
    token = _encode(state, part.last, verb) if part.last else ""
    total = None if state.total is None else max(state.total, state.sent)
    return ListPart(token=token, cursor=state.sent, total=total)


def _encode(state: _ListState, last: HarvestCursor, verb: str) -> str:
    chosen = state.selection
    times = [at.isoformat() if at else "" for at in (chosen.since, chosen.until, last.changed)]
    sent = state.sent + AT_ONCE[verb]
    values = [state.prefix, chosen.kind or "", *times, last.is_gone, last.pk, sent, state.total]
    return encode_cursor(values, f"oai.{verb}")


def _decode(token: str, verb: str) -> _ListState:
    try:
        prefix, kind, since, until, changed, is_gone, pk, sent, total = decode_cursor(
            token, f"oai.{verb}"
        )
    except (Invalid, ValueError):
        # Truncated, forged, of another list, or from an older release.
        raise _bad_token() from None
    return _ListState(
        prefix=prefix,
        selection=HarvestSelection(
            kind=RepositoryKind(kind) if kind else None, since=_time(since), until=_time(until)
        ),
        after=HarvestCursor(datetime.fromisoformat(changed), is_gone=is_gone, pk=pk),
        sent=sent,
        total=total,
    )


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _bad_token() -> OaiError:
    return OaiError("badResumptionToken", "The resumption token is not valid for this list.")
