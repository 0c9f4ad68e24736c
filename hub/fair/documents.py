"""Answers with a record in one of its formats."""

import hashlib
import re
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from hub.fair.headers import harmless
from hub.headers import shared
from registry.fair import signposting
from registry.fair.description import Description
from registry.fair.formats import Format

#: The link set is another format of a record, without a ``describedby`` link.
LINKSET = Format(
    "linkset",
    "Typed links (RFC 9264)",
    signposting.LINKSET_TYPE,
    ".linkset.json",
    signposting.render_linkset,
    is_negotiated=True,
)
LINKSET_TEXT = Format(
    "linkset-text",
    "Typed links as text (RFC 9264)",
    signposting.LINKSET_TEXT_TYPE,
    ".linkset",
    signposting.render_linkset_text,
    is_negotiated=True,
)

# Without a charset, clients read these types as Latin-1.
_TEXTS = ("text/", "application/x-bibtex", "application/x-research-info-systems")
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.+-]+")


def document(
    request: HttpRequest,
    description: Description,
    format_: Format,
    *,
    cache_control: str = "private, no-cache",
) -> HttpResponse:
    """``description`` in ``format_``; 304 if the client's copy is current."""
    data = format_.render(description)
    etag = f'"{hashlib.sha256(data).hexdigest()}"'
    response = HttpResponse(data, content_type=content_type(format_))
    file_name = f"{file_stem(description)}{format_.extension}"
    response.headers["Content-Disposition"] = (
        content_disposition_header(as_attachment=False, filename=file_name) or "inline"
    )
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = cache_control
    answer = get_conditional_response(request, etag=etag, response=harmless(response))
    document_answer = cast("HttpResponse", answer)
    # Records of public repositories are public even if the files are gated.
    return document_answer if description.status == "draft" else shared(document_answer)


def content_type(format_: Format) -> str:
    """``Content-Type`` of a format, with its profile or charset."""
    if format_.profile:
        return f'{format_.media_type}; profile="{format_.profile}"'
    charset = "; charset=utf-8" if format_.media_type.startswith(_TEXTS) else ""
    return f"{format_.media_type}{charset}"


def file_stem(description: Description) -> str:
    """File name of downloads of a version without extension, such as ``galaxy-cnn-v2``."""
    return _NOT_IN_FILE_NAMES.sub("-", f"{description.name}-{description.version}")
