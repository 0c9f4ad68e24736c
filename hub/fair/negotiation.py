"""Which form of a record is wanted at its page: the page itself, or what programs read.

RFC 9110, section 12.5.1. Nobody is refused: who accepts nothing that there is gets the page.
"""

from collections.abc import Callable, Sequence

from django.http import HttpRequest, HttpResponse
from django.http.request import MediaType

from hub.fair.documents import LINKSET, LINKSET_TEXT, document
from hub.fair.headers import typed
from registry.fair.description import Description
from registry.fair.formats import FORMATS, Format

_PAGE = "text/html"
# The canonical JSON-LD comes before what else is of its media type.
_FORMS = (
    *reversed([one for one in FORMATS if one.is_negotiated or one.profile]),
    LINKSET,
    LINKSET_TEXT,
)
_PROFILES = frozenset(one.profile for one in FORMATS if one.profile)


def negotiated(request: HttpRequest, describe: Callable[[], Description]) -> HttpResponse | None:
    """The record in the form that ``Accept`` prefers, with its links; ``None``: as a page.

    Of what was withdrawn the status is 410, and the record that is left is the body.

    Args:
        describe: Called only where something else than the page is wanted.
    """
    if preferred(request, _FORMS) is None:
        return None
    description = describe()
    form = preferred(request, [one for one in _FORMS if description.kind in one.kinds])
    if form is None:
        return None
    response = document(request, description, form)
    if description.status == "withdrawn" and response.status_code == 200:
        response.status_code = 410
    return typed(response, description, request)


def preferred(request: HttpRequest, forms: Sequence[Format]) -> Format | None:
    """The one of ``forms`` that ``Accept`` prefers to a page; of equal ones the first.

    What is wished beside a media type is passed over, but for profiles that there are.
    """
    try:
        accepted = request.accepted_types
    except ValueError:
        # Something else than media types.
        return None
    ranked: list[tuple[int, Format | None]] = []
    for form in (None, *forms):
        fitting = (one for one in request.accepted_types_by_precedence if _accepts(one, form))
        if (best := next(fitting, None)) is not None:
            ranked.append((accepted.index(best), form))
    return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]


def _accepts(accepted: MediaType, form: Format | None) -> bool:
    wished = MediaType(f"{accepted.main_type}/{accepted.sub_type}")
    if not MediaType(form.media_type if form else _PAGE).match(wished):
        return False
    profiles = _PROFILES.intersection(accepted.params.get("profile", "").split())
    return not profiles or (form is not None and form.profile in profiles)
