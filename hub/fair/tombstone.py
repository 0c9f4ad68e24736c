"""What is left of what was withdrawn: an answer that says it is gone, with the whole record."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from hub.fair.headers import typed
from hub.fair.negotiation import negotiated
from registry.fair import citation
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.iris import iri
from registry.fair.linked import jsonld
from registry.fair.signposting import metadata_url
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import ResolvedIdentifier, pid_url, withdrawn_get
from registry.states import RepositoryKind
from registry.tables import MLModel

GONE = 410


def tombstone(request: HttpRequest, found: ResolvedIdentifier) -> HttpResponse:
    """410 with the record of what was withdrawn, as ``Accept`` asks for it.

    Args:
        found: With a description.
    """
    description = found.description
    assert description is not None  # noqa: S101 - asked for by the caller
    response = negotiated(request, lambda: description)
    if response is not None:
        return response
    context = _context(found, description)
    page = render(request, "fair/tombstone.html", context, status=GONE)
    # Something else may come to the same address.
    page.headers["Cache-Control"] = "private, no-cache"
    return typed(page, description, request)


def tombstone_at(
    request: HttpRequest,
    kind: RepositoryKind,
    full_name: str,
    *,
    mlmodel: MLModel | None = None,
) -> HttpResponse | None:
    """What is left of what was once at an address; ``None`` if nothing is.

    For addresses at which nothing was found.

    Args:
        request: Its ``?revision=`` says which version was looked for.
        mlmodel: What is there now, which lacks that version; one the asker may read.
    """
    if request.method not in {"GET", "HEAD"}:
        return None
    found = withdrawn_get(kind, full_name, request.GET.get("revision"), mlmodel=mlmodel)
    return tombstone(request, found) if found else None


def _context(found: ResolvedIdentifier, description: Description) -> dict[str, object]:
    formats = formats_of(description.kind)
    return {
        "section": "datasets" if description.kind == "dataset" else "models",
        "identifier": found.identifier,
        "pid": pid_url(found.identifier.name),
        "description": description,
        "others": repository_address(found.mlmodel).concept if found.mlmodel else "",
        "licenses": _licenses(description),
        "citation": citation.render_bibtex(description).decode(),
        "documents": [(one.title, metadata_url(description, one)) for one in formats],
        # What could end the script element is escaped there.
        "record": mark_safe(jsonld.embedded(description)),  # noqa: S308
    }


def _licenses(description: Description) -> list[str]:
    """Addresses that may stand in a link."""
    uris = description.license.uris if description.license else ()
    return [found for uri in uris if (found := iri(uri))]
