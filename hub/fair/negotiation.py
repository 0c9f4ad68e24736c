"""Content negotiation at landing pages (RFC 9110, section 12.5.1); the default is HTML."""

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.request import MediaType

from hub.fair.documents import LINKSET, LINKSET_TEXT, document
from hub.fair.headers import typed
from registry.fair.description import Description
from registry.fair.formats import FORMATS, Format
from registry.fair.signposting import metadata_url

_PAGE = "text/html"
# The canonical JSON-LD precedes other formats of its media type.
_FORMATS = (
    *reversed([one for one in FORMATS if one.is_negotiated or one.profile]),
    LINKSET,
    LINKSET_TEXT,
)
_PROFILES = frozenset(one.profile for one in FORMATS if one.profile)


def negotiated(request: HttpRequest, describe: Callable[[], Description]) -> HttpResponse | None:
    """The record in the format that ``Accept`` prefers; ``None`` if that is the page.

    Answers for withdrawn records have status 410. ``describe`` is not called for the page.
    """
    if preferred(request, _FORMATS) is None:
        return None
    description = describe()
    format_ = preferred(request, [one for one in _FORMATS if description.kind in one.kinds])
    if format_ is None:
        return None
    response = document(request, description, format_)
    if description.status == "withdrawn" and response.status_code == 200:
        response.status_code = 410
    return typed(response, description, request, _location(description, format_))


def _location(description: Description, format_: Format) -> str:
    if format_ in (LINKSET, LINKSET_TEXT):
        return description.linkset_url
    return metadata_url(description, format_)


def preferred(request: HttpRequest, formats: Sequence[Format]) -> Format | None:
    """The one of ``formats`` that ``Accept`` prefers to a page; the first of equal ones.

    Parameters of media types are ignored, except for known profiles.
    """
    try:
        accepted = request.accepted_types
    except ValueError:
        # Malformed header.
        return None
    ranked: list[tuple[int, Format | None]] = []
    for format_ in (None, *formats):
        matches = (one for one in request.accepted_types_by_precedence if _accepts(one, format_))
        if (best := next(matches, None)) is not None:
            ranked.append((accepted.index(best), format_))
    return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]


def _accepts(accepted: MediaType, format_: Format | None) -> bool:
    offered = MediaType(format_.media_type if format_ else _PAGE)
    if not offered.match(f"{accepted.main_type}/{accepted.sub_type}"):
        return False
    profiles = _PROFILES.intersection(accepted.params.get("profile", "").split())
    if profiles:
        return format_ is not None and format_.profile in profiles
    return format_ is None or format_.is_negotiated
