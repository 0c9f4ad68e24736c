"""HTTP answers with the bytes of blobs: whole or one range, with conditional requests.

The ETag of a file is its SHA-256, or the name that another protocol gives the same bytes;
``Repr-Digest`` (RFC 9530) is always the SHA-256. Links lead from a file of a version to its record:
``collection`` to its pages, ``describedby`` to its metadata, ``linkset`` to all links. The bytes
are sent by the first of:

1. nginx, by ``X-Accel-Redirect``, if HPCFAIR_ACCEL names its internal location;
2. the bucket, by redirection, if the store is one and HPCFAIR_S3_REDIRECT is on;
3. ``sendfile(2)``, if the WSGI server has ``wsgi.file_wrapper`` and the store has a file;
4. this process, block by block.
"""

import base64
import logging
import re
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

from hub.headers import shared
from hub.ranges import ranged
from registry.errors import Unavailable
from registry.fair.files import media_type
from registry.fair.signposting import header, of_part, typed
from registry.selectors.fair.hub import repository_address
from registry.selectors.repository.revision import is_newest
from registry.selectors.storage.blob import blob_open, blob_path, blob_url
from registry.services.repository.mlmodel import mlmodel_downloaded
from registry.states import Gate, Visibility
from registry.tables import Blob, BuildFile, ConversionFile, File, MLModel, Revision

logger = logging.getLogger(__name__)
# Programs that visit all addresses, by the names that they give themselves.
_CRAWLERS = re.compile(r"bot\b|crawl|spider|slurp|externalhit|archiver", re.IGNORECASE)

# Media types that browsers display; all others are downloads.
_SHOWN = ("image/", "text/", "application/json")
# A download must start within this time, and may last longer.
_ADDRESS_LIFETIME_S = 3600


class Slice:
    """The next ``length`` bytes of a stream, as a file that a WSGI server may send.

    gunicorn's ``sendfile`` starts at the descriptor's position and sends Content-Length bytes;
    servers that call ``read`` get no more than ``length`` bytes.
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
    """Streams in large blocks: Django's 4 KiB do not saturate a fast network."""

    block_size = 2**18


def file_response(
    request: HttpRequest,
    row: File | BuildFile | ConversionFile,
    revision: Revision,
    *,
    fixed: bool = False,
) -> HttpResponseBase:
    """The answer to GET or HEAD for a file of a revision or build that the user may read.

    Args:
        revision: That of the file or of the build's network, with MLModel and namespace.
        fixed: Whether the address always names these bytes: it holds a commit id, not a branch.
    """
    return serve_blob(
        request,
        row.blob,
        path=row.path,
        cache_control=caching(revision.mlmodel, fixed=fixed),
        version=revision,
    )


def caching(mlmodel: MLModel, *, fixed: bool) -> str:
    """``Cache-Control`` of resources of ``mlmodel``: shared caches store public ones only."""
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
    """The answer to GET or HEAD for ``blob``, whose file name is ``path``.

    Supports If-None-Match, If-Match, Range (one range; a list of ranges gets the whole) and
    If-Range. 416 answers carry ``Content-Range: bytes */size`` and no body.

    Args:
        etag: Name of these bytes in the client's protocol; by default their SHA-256.
        version: Revision that the links lead to, with MLModel and namespace.
    """
    response = _answer(request, blob, path, cache_control, f'"{etag or blob.sha256}"')
    if response.status_code in {200, 206, 302, 304}:
        # Of the whole file, also for a range (RFC 9530, section 3). Buckets do not send it: their
        # redirections have it, for the bytes they lead to.
        digest = base64.b64encode(bytes.fromhex(blob.sha256)).decode()
        response.headers["Repr-Digest"] = f"sha-256=:{digest}:"
    if version is not None:
        response.headers["Link"] = _links(version)
    # The bytes' own cache control counts: a redirection to a bucket is never cached.
    return shared(response) if cache_control.startswith("public") else response


def _links(version: Revision) -> str:
    place = repository_address(version.mlmodel)
    pages = [*([place.concept] if is_newest(version) else []), place.version(version.oid)]
    metadata = place.version(version.oid, "/metadata/jsonld")
    parts = of_part("", pages, place.version(version.oid, "/linkset"))
    return header([*parts, typed("", "describedby", metadata, "application/ld+json")])


def _answer(
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
        address = _store_address(blob, path)
        if address is not None:
            # Clients repeat their range and conditions there.
            response = HttpResponseRedirect(address)
            return _with_headers(response, etag, path, "private, no-store")
    response = ranged(request, etag, blob.size_bytes, partial(_body, request, blob))
    return _with_headers(response, etag, path, cache_control)


def count_download(request: HttpRequest, response: HttpResponseBase, mlmodel: MLModel) -> None:
    """Count ``response`` as a download of ``mlmodel``, once it is sent; for main files only.

    These are the largest file of a revision, and the one that a build opens.
    """
    if response.status_code in {200, 206, 302} and starts_download(request):
        _when_sent(response, partial(_count, mlmodel))


def starts_download(request: HttpRequest) -> bool:
    """Whether the request fetches a file from its first byte, and is no crawler's.

    Later ranges continue a download.
    """
    if request.method != "GET" or _CRAWLERS.search(request.headers.get("User-Agent", "")):
        return False
    requested = request.headers.get("Range", "")
    return not requested or requested.startswith("bytes=0-")


def _when_sent(response: HttpResponseBase, action: Callable[[], None]) -> None:
    close = response.close

    def closing() -> None:
        try:
            action()
        finally:
            close()

    response.close = closing  # type: ignore[method-assign]


def _count(mlmodel: MLModel) -> None:
    try:
        mlmodel_downloaded(mlmodel=mlmodel)
    except (DatabaseError, Unavailable):
        # The download is complete; a busy database must not end the connection.
        logger.warning("a download of %s was not counted", mlmodel.pk, exc_info=True)


def _body(request: HttpRequest, blob: Blob, first: int, length: int) -> HttpResponseBase:
    if request.method == "HEAD" or length == 0:
        return HttpResponse()
    stream = blob_open(blob)
    stream.seek(first)
    return BlobResponse(Slice(stream, length))


def _store_address(blob: Blob, path: str) -> str | None:
    """Address at which the store sends the bytes to its bearer; ``None`` if it cannot."""
    content_type, disposition = _shown_as(path)
    return blob_url(
        blob, expires_s=_ADDRESS_LIFETIME_S, content_type=content_type, disposition=disposition
    )


def _shown_as(path: str) -> tuple[str, str]:
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
    if "X-Accel-Redirect" not in response.headers:
        # nginx, which serves the ranges then, would send it twice.
        response.headers["Accept-Ranges"] = "bytes"
    response.headers["Cache-Control"] = cache_control
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = disposition
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
