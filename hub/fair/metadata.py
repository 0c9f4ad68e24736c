"""Metadata of a version in each format: ``/{ns}/{name}/metadata/{format}?revision=...``."""

from django.http import HttpRequest, HttpResponse

from hub.fair.documents import document
from hub.fair.subject import description_view
from registry.errors import NotFound
from registry.fair import signposting
from registry.fair.description import Description
from registry.fair.formats import formats_of


@description_view
def metadata(
    request: HttpRequest, description: Description, *, cache_control: str, format_name: str
) -> HttpResponse:
    """The record in one format, with a link to the page that it describes."""
    formats = {one.name: one for one in formats_of(description.kind)}
    format_ = formats.get(format_name)
    if format_ is None:
        raise NotFound(
            "page_not_found",
            f"Metadata of a {description.kind} have no format {format_name[:50]!r}.",
            f"Formats: {', '.join(formats)}.",
        )
    response = document(request, description, format_, cache_control=cache_control)
    response.headers["Link"] = signposting.header(signposting.of_metadata(description, format_))
    return response
