"""A version with all its files as an RO-Crate ZIP: ``/{ns}/{name}/crate?revision=...``.

It is packed while it is sent. Its bytes are reproducible as long as the metadata do not change, so
that downloads can be resumed: see :mod:`hub.fair.archive`.
"""

import hashlib
from collections.abc import Iterator
from functools import partial

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from hub.credentials import actor_of
from hub.fair.archive import Archive, Member
from hub.fair.documents import file_stem
from hub.fair.headers import harmless
from hub.fair.subject import version_view
from hub.files import caching, count_download
from hub.headers import shared_if_public
from hub.ranges import ranged
from registry.errors import Invalid
from registry.fair import signposting
from registry.fair.crate import rocrate
from registry.fair.description import MAX_CRATE_FILES, Description
from registry.selectors.fair.description import describe
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import files_of
from registry.selectors.storage.blob import blob_open
from registry.tables import Blob, Revision

_TYPE = "application/zip"
_BLOCK_BYTES = 2**18


@version_view
def crate(request: HttpRequest, revision: Revision) -> HttpResponseBase:
    """The ZIP, for users who may fetch the files. Supports If-None-Match, If-Range, one range.

    Raises ``Invalid`` ``invalid_request`` if the files are too many for one archive.
    """
    mlmodel = revision.mlmodel
    require_fetch(actor_of(request), mlmodel)
    description = describe(revision)
    if description.file_count > MAX_CRATE_FILES:
        raise Invalid(
            "invalid_request",
            f"The version has {description.file_count} files; an archive holds at most "
            f"{MAX_CRATE_FILES}.",
            "Download them with a client of the Hugging Face Hub, or by git clone.",
        )
    archive = _archive(revision, description)
    response: HttpResponseBase | None = get_conditional_response(request, etag=archive.etag)
    if response is None:
        body = partial(_body, request, archive)
        response = ranged(request, archive.etag, len(archive), body)
    response.headers["ETag"] = archive.etag
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=f"{file_stem(description)}.crate.zip"
    )
    # Its metadata change with the builds of the version.
    response.headers["Cache-Control"] = caching(mlmodel, fixed=False)
    links = [
        *signposting.of_part("", description.pages, description.linkset_url),
        signposting.typed("", "profile", rocrate.PROFILE),
    ]
    response.headers["Link"] = signposting.header(links)
    count_download(request, response, mlmodel)
    return shared_if_public(harmless(response))


def _body(request: HttpRequest, archive: Archive, first: int, length: int) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse(content_type=_TYPE)
    return StreamingHttpResponse(archive.stream(first, length), content_type=_TYPE)


def _archive(revision: Revision, description: Description) -> Archive:
    metadata = rocrate.render_with_files(description)
    digest = hashlib.sha256(metadata).hexdigest()
    members = [Member(rocrate.DESCRIPTOR, len(metadata), digest, lambda: [metadata])]
    members += [
        Member(file.path, file.blob.size_bytes, file.blob.sha256, partial(_content, file.blob))
        for file in files_of(revision)
        # The crate refers to a file of that name by its web address.
        if file.path != rocrate.DESCRIPTOR
    ]
    return Archive(members, description.created)


def _content(blob: Blob) -> Iterator[bytes]:
    with blob_open(blob) as stream:
        while block := stream.read(_BLOCK_BYTES):
            yield block
