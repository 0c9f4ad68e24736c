"""``/oai``: OAI-PMH 2.0, by which catalogues of others harvest what everybody may read.

Who asks makes no difference: nothing private is ever here. A resumption token holds all that the
next part needs; it is signed, never expires, and leads on behind its part however much changes.
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
    """Answer one request; what cannot be met is answered, too, with status 200."""
    given = request.POST if request.method == "POST" else request.GET
    pairs = [(str(name), str(value)) for name, values in given.lists() for value in values]
    repository, now = _repository(), timezone.now()
    try:
        asked = parse(pairs, PAYLOADS)
        data = _ANSWERS[asked.verb](Provider(repository, asked, now))
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
    """The address that every host has to have (RFC 2142), for hubs that name none."""
    host = urlsplit(url).hostname or ""
    # Harvesters want a dot in it.
    return f"postmaster@{host if '.' in host else f'{host}.invalid'}"


def _list_metadata_formats(provider: Provider) -> bytes:
    if provider.request.identifier is not None:
        # Refuses what is not there; all else is to be had in each format.
        _get(provider.request.identifier)
    return provider.list_metadata_formats()


def _list_sets(provider: Provider) -> bytes:
    if provider.request.token is not None:
        raise _bad_token()
    return provider.list_sets()


def _get_record(provider: Provider) -> bytes:
    asked = provider.request
    return provider.get_record(_get(asked.identifier or ""), asked.prefix or "")


def _list_records(provider: Provider) -> bytes:
    course, part = _next(provider)
    return provider.list_records(part.records, course.prefix, _page(provider, course, part))


def _list_identifiers(provider: Provider) -> bytes:
    course, part = _next(provider)
    return provider.list_identifiers(part.records, _page(provider, course, part))


_ANSWERS: dict[str, Callable[[Provider], bytes]] = {
    "Identify": Provider.identify,
    "ListMetadataFormats": _list_metadata_formats,
    "ListSets": _list_sets,
    "GetRecord": _get_record,
    "ListRecords": _list_records,
    "ListIdentifiers": _list_identifiers,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """A list on its way.

    Attributes:
        sent: How many records were in the parts before.
        total: How many there were when it began.
    """

    prefix: str
    wanted: HarvestSelection
    after: HarvestCursor | None = None
    sent: int = 0
    total: int = 0


def _get(identifier: str) -> OaiRecord:
    try:
        return harvest_get(identifier)
    except NotFound as error:
        raise OaiError("idDoesNotExist", error.detail) from error


def _next(provider: Provider) -> tuple[_Course, HarvestPart]:
    """The part that is asked for, and the list it is of."""
    course = _course(provider)
    verb = provider.request.verb
    part = harvest_part(
        course.wanted,
        after=course.after,
        limit=AT_ONCE[verb],
        is_whole=verb == "ListRecords",
    )
    return course, part


def _course(provider: Provider) -> _Course:
    asked = provider.request
    if asked.token is not None:
        return _read(asked.token, asked.verb)
    kind = None
    if asked.set_spec is not None:
        kind = _KINDS.get(asked.set_spec)
        if kind is None:
            raise OaiError("noRecordsMatch", "There is no such set.")
    wanted = HarvestSelection(kind=kind, since=asked.since, until=asked.until)
    return _Course(prefix=asked.prefix or "", wanted=wanted, total=harvest_count(wanted))


def _page(provider: Provider, course: _Course, part: HarvestPart) -> ListPart | None:
    """Where the answer stands; ``None`` if it is the whole list."""
    if part.last is None and not course.sent:
        return None
    verb = provider.request.verb
    token = _written(course, part.last, verb) if part.last else ""
    return ListPart(token=token, cursor=course.sent, total=max(course.total, course.sent))


def _written(course: _Course, last: HarvestCursor, verb: str) -> str:
    wanted = course.wanted
    times = [at.isoformat() if at else "" for at in (wanted.since, wanted.until, last.changed)]
    sent = course.sent + AT_ONCE[verb]
    values = [course.prefix, wanted.kind or "", *times, last.is_gone, last.pk, sent, course.total]
    return encode_cursor(values, f"oai.{verb}")


def _read(token: str, verb: str) -> _Course:
    try:
        prefix, kind, since, until, changed, is_gone, pk, sent, total = decode_cursor(
            token, f"oai.{verb}"
        )
    except (Invalid, ValueError):
        # Of another list, cut, made up, or of an older release.
        raise _bad_token() from None
    return _Course(
        prefix=prefix,
        wanted=HarvestSelection(
            kind=RepositoryKind(kind) if kind else None, since=_time(since), until=_time(until)
        ),
        after=HarvestCursor(datetime.fromisoformat(changed), is_gone=is_gone, pk=pk),
        sent=sent,
        total=total,
    )


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _bad_token() -> OaiError:
    return OaiError("badResumptionToken", "This list gave out no such token.")
