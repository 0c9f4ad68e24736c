"""Bytes of a blob over HTTP: whole or one range, revalidated by digest, sent by the kernel.

The ETag of a file is its SHA-256, so a client can verify what it got and a cache can revalidate
for free; or what another protocol calls the same bytes. ``Repr-Digest`` (RFC 9530) always is the
SHA-256, and links lead from a version's file to its record: ``collection`` to its page,
``describedby`` to its metadata. What sends the bytes, fastest first:

1. nginx, told by ``X-Accel-Redirect``, where HPCFAIR_ACCEL names its internal location;
2. ``sendfile(2)``, where the WSGI server offers ``wsgi.file_wrapper`` and the store has a file;
3. the bucket, where the store is one and HPCFAIR_S3_REDIRECT lets clients go there;
4. this process, block by block.
"""

import base64
import logging
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO
from urllib.parse import quote

from django.conf import settings
from django.db import DatabaseError
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header

from hub.ranges import ranged
from hub.sharing import shared
from registry.fair.files import media_type
from registry.fair.signposting import header, typed
from registry.selectors.fair.hub import repository_address
from registry.selectors.storage.blob import blob_open, blob_path, blob_url
from registry.services.repository.mlmodel import mlmodel_downloaded
from registry.states import Gate, Visibility
from registry.tables import Blob, BuildFile, File, MLModel, Revision

logger = logging.getLogger(__name__)

# Shown in the browser; all else is a download, whatever its type.
_SHOWN = ("image/", "text/", "application/json")
# Long enough to begin a download, which then goes on; short enough to be of little use to others.
_ADDRESS_LIFETIME_S = 3600


class Slice:
    """So many bytes from a stream's position, as a file that a WSGI server may send.

    gunicorn's ``sendfile`` takes the descriptor's position as the start and Content-Length as the
    count; servers that read instead stop where this stops.
    """

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream = stream
        self._left = length

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(chunk)
        return chunk

    def fileno(self) -> int:
        return self._stream.fileno()

    def close(self) -> None:
        self._stream.close()


class BlobResponse(FileResponse):
    """Streams in blocks that keep a fast network busy; Django's 4 KiB do not."""

    block_size = 2**18


def file_response(
    request: HttpRequest, row: File | BuildFile, *, fixed: bool = False
) -> HttpResponseBase:
    """Answer GET or HEAD for a file of a revision or build the asker may read.

    Args:
        fixed: The address names these bytes for ever: a full commit id is in it, not a branch.
    """
    revision = row.revision if isinstance(row, File) else row.build.graph.revision
    return serve_blob(
        request,
        row.blob,
        path=row.path,
        cache_control=caching(revision.mlmodel, fixed=fixed),
        version=revision,
    )


def caching(mlmodel: MLModel, *, fixed: bool) -> str:
    """``Cache-Control`` of what hangs on ``mlmodel``: shared caches keep only what is for all."""
    open_to_all = mlmodel.visibility == Visibility.PUBLIC and mlmodel.gate == Gate.OPEN
    scope = "public" if open_to_all else "private"
    return f"{scope}, max-age=31536000, immutable" if fixed else f"{scope}, no-cache"


def serve_blob(
    request: HttpRequest,
    blob: Blob,
    *,
    path: str,
    cache_control: str,
    etag: str = "",
    version: Revision | None = None,
) -> HttpResponseBase:
    """Answer GET or HEAD for ``blob``, known to its reader as ``path``.

    Understands If-None-Match, If-Match, Range (one range; a list of ranges gets the whole) and
    If-Range. 416 answers carry ``Content-Range: bytes */size`` and no body.

    Args:
        etag: What the reader's protocol names these bytes by; by default their SHA-256.
        version: What the file belongs to, to whose record a link leads; with MLModel and namespace.
    """
    response = _answered(request, blob, path, cache_control, f'"{etag or blob.sha256}"')
    if response.status_code in {200, 206, 302, 304}:
        # Of the whole file, whatever part of it comes (RFC 9530, section 3). A bucket cannot tell:
        # like the ETag, it is told by the redirection there, of the bytes that it leads to.
        digest = base64.b64encode(bytes.fromhex(blob.sha256)).decode()
        response.headers["Repr-Digest"] = f"sha-256=:{digest}:"
    if version is not None:
        place = repository_address(version.mlmodel)
        metadata = place.version(version.oid, "/metadata/jsonld")
        links = [
            typed("", "collection", place.version(version.oid), "text/html"),
            # For who came by the file alone: what it is a part of, without reading a page.
            typed("", "describedby", metadata, "application/ld+json"),
        ]
        response.headers["Link"] = header(links)
    # Asked of the bytes: a redirection to a bucket is for nobody's cache, though it is for all.
    return shared(response) if cache_control.startswith("public") else response


def _answered(
    request: HttpRequest, blob: Blob, path: str, cache_control: str, etag: str
) -> HttpResponseBase:
    early = get_conditional_response(request, etag=etag)
    if early is not None:
        return _with_headers(early, etag, path, cache_control)
    if settings.ACCEL_PREFIX and (file := blob_path(blob)) is not None:
        # nginx answers Range and HEAD itself.
        relative = file.relative_to(settings.DATA_DIR / "blobs")
        response: HttpResponseBase = HttpResponse()
        response.headers["X-Accel-Redirect"] = settings.ACCEL_PREFIX + quote(str(relative))
        return _with_headers(response, etag, path, cache_control)
    if settings.S3_REDIRECT and request.method == "GET":
        address = _elsewhere(blob, path)
        if address is not None:
            # Ranges and what was asked besides go along; the bucket answers them.
            response = HttpResponseRedirect(address)
            return _with_headers(response, etag, path, "private, no-store")
    response = ranged(request, etag, blob.size_bytes, partial(_body, request, blob))
    return _with_headers(response, etag, path, cache_control)


def count_download(request: HttpRequest, response: HttpResponseBase, mlmodel: MLModel) -> None:
    """Let ``response``, which answers with the main file of ``mlmodel``, count as a download.

    The main file is a revision's largest, or what a build opens.
    """
    if response.status_code in {200, 206, 302} and starts_download(request):
        _when_sent(response, partial(_count, mlmodel))


def starts_download(request: HttpRequest) -> bool:
    """Whether the request fetches a file from its first byte.

    A resumed or parallel transfer asks for later ranges too, and is still one download.
    """
    asked = request.headers.get("Range", "")
    return request.method == "GET" and (not asked or asked.startswith("bytes=0-"))


def _when_sent(response: HttpResponseBase, action: Callable[[], None]) -> None:
    """Do ``action`` when all bytes are out: nobody waits for it."""
    close = response.close

    def closing() -> None:
        action()
        close()

    response.close = closing  # type: ignore[method-assign]


def _count(mlmodel: MLModel) -> None:
    try:
        mlmodel_downloaded(mlmodel=mlmodel)
    except DatabaseError:
        # The bytes are out; a database too busy to count is no reason to end the connection.
        logger.warning("a download of %s was not counted", mlmodel.pk, exc_info=True)


def _body(request: HttpRequest, blob: Blob, first: int, length: int) -> HttpResponseBase:
    if request.method == "HEAD" or length == 0:
        return HttpResponse()
    stream = blob_open(blob)
    stream.seek(first)
    return BlobResponse(Slice(stream, length))


def _elsewhere(blob: Blob, path: str) -> str | None:
    """Where the store itself sends the bytes, for whoever is handed the address."""
    content_type, disposition = _shown_as(path)
    return blob_url(
        blob, expires_s=_ADDRESS_LIFETIME_S, content_type=content_type, disposition=disposition
    )


def _shown_as(path: str) -> tuple[str, str]:
    """Content-Type and Content-Disposition of a file."""
    kind = media_type(path)
    disposition = content_disposition_header(
        as_attachment=not kind.startswith(_SHOWN), filename=PurePosixPath(path).name
    )
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return f"{kind}{charset}", disposition or "attachment"


def _with_headers(
    response: HttpResponseBase, etag: str, path: str, cache_control: str
) -> HttpResponseBase:
    content_type, disposition = _shown_as(path)
    response.headers["ETag"] = etag
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Cache-Control"] = cache_control
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = disposition
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
