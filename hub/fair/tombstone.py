"""Tombstones: answers with status 410 and the kept record of a withdrawn target."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from hub.fair.headers import typed
from hub.fair.negotiation import negotiated
from registry.fair import ark, citation
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.linked import jsonld
from registry.fair.parts import METADATA_LICENSE
from registry.fair.signposting import licenses_of, metadata_url
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import ResolvedIdentifier, pid_url, withdrawn_get
from registry.states import RepositoryKind
from registry.tables import MLModel

GONE = 410


def tombstone(request: HttpRequest, withdrawn: ResolvedIdentifier) -> HttpResponse:
    """410 with the kept record of ``withdrawn``, in the format that ``Accept`` prefers."""
    description = withdrawn.description
    assert description is not None  # noqa: S101 - required of the caller
    response = negotiated(request, lambda: description)
    if response is not None:
        return response
    context = _context(withdrawn, description)
    page = render(request, "fair/tombstone.html", context, status=GONE)
    # Another repository may get the same address.
    page.headers["Cache-Control"] = "private, no-cache"
    return typed(page, description, request, description.landing)


def tombstone_at(
    request: HttpRequest, kind: RepositoryKind, full_name: str, *, mlmodel: MLModel | None = None
) -> HttpResponse | None:
    """The tombstone at an address without a current target; ``None`` if there is none.

    The parameter ``revision`` names the version. ``mlmodel`` is the current repository there,
    which lacks that version, and which the user may read.
    """
    if request.method not in {"GET", "HEAD"}:
        return None
    withdrawn = withdrawn_get(kind, full_name, request.GET.get("revision"), mlmodel=mlmodel)
    return tombstone(request, withdrawn) if withdrawn else None


def _context(withdrawn: ResolvedIdentifier, description: Description) -> dict[str, object]:
    formats = formats_of(description.kind)
    return {
        "section": "datasets" if description.kind == "dataset" else "models",
        "identifier": withdrawn.identifier,
        "pid": pid_url(withdrawn.identifier.name),
        "description": description,
        "others": repository_address(withdrawn.mlmodel).concept if withdrawn.mlmodel else "",
        "is_test_ark": ark.is_test(description.pid),
        "metadata_license": METADATA_LICENSE,
        "licenses": licenses_of(description),
        "citation": citation.render_bibtex(description).decode(),
        "documents": [(one.title, metadata_url(description, one)) for one in formats],
        # Characters that could end the script element are escaped.
        "record": mark_safe(jsonld.embedded(description)),  # noqa: S308
    }
