"""Xet downloads: files as chunks, so that a client that has most of a file fetches the others.

A file that can be downloaded so is announced by ``X-Xet-Hash`` at its address and by ``xetHash`` in
listings. A client requests a ticket for the repository, and with it the *reconstruction* of the
file: the xorbs and ranges of chunks that make it up, each with a signed address of its bytes. A
client that caches chunks by xorb and position requests only those that it lacks.

Files are stored whole (ADR 0026): the bytes of a range of chunks are read from the file itself, and
the headers between them are made on the way. So an address shows no other file, and the xorbs that
clients sent need not exist any more. The plain address of the file stays valid.

Sources: huggingface/xet-core ``openapi/cas.openapi.yaml``,
``xet_client/src/cas_client/remote_client.rs``; huggingface_hub ``utils/_xet.py``.
"""

import re
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, BinaryIO, cast

from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from hub.credentials import actor_of
from hub.files import BlobResponse, Slice, count_download
from hub.hf.views import KINDS, absolute, json_answer
from hub.hf.xet import bearer_claims, ticket_answer
from hub.ranges import ranged
from registry.errors import Forbidden, NotFound
from registry.fair.files import is_open
from registry.ids import parse_uuid
from registry.selectors.access import readable_repositories
from registry.selectors.people.account import user_of_token_uuid
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import main_path
from registry.selectors.storage.lfsfile import blobs_held
from registry.selectors.storage.reconstruction import (
    ChunkFetch,
    Reconstruction,
    chunks_open,
    reconstruction,
    xet_file_get,
    xet_hashes,
)
from registry.states import Gate
from registry.tables import File, MLModel, Revision, User

_TICKETS, _LINKS = "hub.hf.xetread.ticket", "hub.hf.xetread.chunks"
#: Clients fetch the chunks of a reconstruction within minutes; after 403 they request it again.
_LINK_S = 3600
# Clients write the end of an open range as 2^64 - 1.
_RANGE = re.compile(r"bytes=(\d{1,20})-(\d{1,20})?")
# One address for all repositories, because clients keep their caches per address.
_PLACE = "/xet"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Whom a ticket or an address acts for.

    Attributes:
        token: Uuid of the token it was issued to; "" for anonymous downloads of public files.
        mlmodel: Uuid of the repository.
    """

    token: str
    mlmodel: str

    def repository(self) -> MLModel:
        """The repository, whose files the token's owner may fetch at this moment.

        Raises ``NotFound``, ``Unauthenticated`` or ``Forbidden``.
        """
        actor = user_of_token_uuid(self.token) if self.token else AnonymousUser()
        rows = readable_repositories(actor).filter(uuid=parse_uuid(self.mlmodel))
        mlmodel = rows.select_related("namespace").first()
        if mlmodel is None:
            raise NotFound(
                "model_not_found", "The repository does not exist, or you may not read it."
            )
        require_fetch(actor, mlmodel)
        return mlmodel


def offered(mlmodel: MLModel, files: list[File]) -> dict[str, str]:
    """Digest to Xet hash for those of ``files`` that clients may download by Xet.

    Tickets are for all files of a repository: those that stay open in a gated one are not offered.
    """
    is_gated = mlmodel.gate != Gate.OPEN
    return xet_hashes(
        [file.blob_id for file in files if file.is_lfs and not (is_gated and is_open(file.path))]
    )


def announce(response: HttpResponseBase, revision: Revision, file: File) -> None:
    """Set the headers by which clients find the reconstruction of ``file``, if it has one.

    ``revision`` comes with its MLModel and namespace.
    """
    mlmodel = revision.mlmodel
    xet_hash = offered(mlmodel, [file]).get(file.blob_id)
    if xet_hash is None:
        return
    kind = next(name for name, kind in KINDS.items() if kind == mlmodel.kind)
    tickets = absolute(f"/api/{kind}/{mlmodel.full_name}/xet-read-token/{revision.oid}")
    place = absolute(f"{_PLACE}/v1/reconstructions/{xet_hash}")
    links = f'<{tickets}>; rel="xet-auth", <{place}>; rel="xet-reconstruction-info"'
    earlier = response.headers.get("Link")
    response.headers["Link"] = f"{earlier}, {links}" if earlier else links
    response.headers["X-Xet-Hash"] = xet_hash
    response.headers["X-Xet-Refresh-Route"] = tickets


def read_token(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:  # noqa: ARG001
    """``GET .../xet-read-token/{rev}``: a ticket, in headers and as JSON."""
    actor = actor_of(request)
    require_fetch(actor, mlmodel)
    # A browser session has no token that a ticket could act for, but may read public files.
    token = actor.token if isinstance(actor, User) else None
    claims = [str(token.uuid) if token else "", str(mlmodel.uuid)]
    return ticket_answer(absolute(_PLACE), claims, salt=_TICKETS)


def reconstruct(request: HttpRequest, digest: str, version: str = "v1") -> HttpResponse:
    """``GET /xet/[{v1,v2}/]reconstructions/{hash}``, of the whole file or of one range."""
    token, uuid = bearer_claims(request, salt=_TICKETS)
    reader = _Reader(token, uuid)
    mlmodel = reader.repository()
    file, revision = xet_file_get(mlmodel, digest.lower())
    size = file.blob.size_bytes
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    start, end = (int(match[1]), int(match[2] or size) + 1) if match else (0, size)
    if start >= size or end <= start:
        outside = HttpResponse(status=416)
        outside.headers["Content-Range"] = f"bytes */{size}"
        return outside
    plan = reconstruction(file.blob, start, min(end, size))
    response = json_answer(_shape(plan, reader, file, version))
    if file.path == main_path(revision):
        count_download(request, response, mlmodel)
    return response


def chunks(request: HttpRequest, signed: str) -> HttpResponseBase:
    """``GET /xet/chunks/{signed}``: a range of chunks of a xorb, as clients upload them."""
    try:
        claims = signing.loads(signed, salt=_LINKS, max_age=_LINK_S)
    except signing.BadSignature:
        # Expired ones included: after 403 clients request the reconstruction again.
        raise Forbidden("token_expired", "The address is expired, or not of this hub.") from None
    token, uuid, sha256, xorb, first, end, size_bytes = claims
    mlmodel = _Reader(token, uuid).repository()
    if sha256 not in blobs_held(mlmodel, [sha256]):
        raise NotFound("blob_not_found", "There is no such file here any more.")
    etag = f'"{xorb}-{first}-{end}"'
    body = partial(_body, request, sha256, xorb, first, end)
    response = ranged(request, etag, size_bytes, body)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Type"] = "application/octet-stream"
    response.headers["ETag"] = etag
    return response


def _body(
    request: HttpRequest, sha256: str, xorb: str, first: int, end: int, skip: int, length: int
) -> HttpResponseBase:
    if request.method == "HEAD":
        return HttpResponse()
    stream = chunks_open(sha256, xorb, first, end, skip=skip)
    # It is read and closed, and has no descriptor.
    return BlobResponse(Slice(cast("BinaryIO", stream), length))


def _shape(plan: Reconstruction, reader: _Reader, file: File, version: str) -> dict[str, Any]:
    terms = [
        {
            "hash": term.xorb,
            "unpacked_length": term.raw_bytes,
            "range": {"start": term.first, "end": term.end},
        }
        for term in plan.terms
    ]
    places: dict[str, list[dict[str, Any]]] = {}
    for fetch in plan.fetches:
        chunk_range = {"start": fetch.first, "end": fetch.end}
        byte_range = {"start": 0, "end": fetch.size_bytes - 1}
        url = _address(reader, file, fetch)
        place: dict[str, Any] = (
            {"range": chunk_range, "url": url, "url_range": byte_range}
            if version == "v1"
            else {"url": url, "ranges": [{"chunks": chunk_range, "bytes": byte_range}]}
        )
        places.setdefault(fetch.xorb, []).append(place)
    name = "fetch_info" if version == "v1" else "xorbs"
    return {"offset_into_first_range": plan.skip_bytes, "terms": terms, name: places}


def _address(reader: _Reader, file: File, fetch: ChunkFetch) -> str:
    claims = [*astuple(reader), file.blob_id, *astuple(fetch)]
    return absolute(f"{_PLACE}/chunks/{signing.dumps(claims, salt=_LINKS)}")
