"""Git LFS: large files of clients without Xet, and of ``git clone``.

A client posts the digests of many objects to ``{repository}.git/info/lfs/objects/batch`` and gets
addresses in return. It sends no credentials there, so each is signed: see :mod:`hub.hf.lfslink`.
``multipart`` is the Hugging Face Hub's own transfer: addresses ``"1"`` to ``"N"`` take the parts,
then a POST says what each was answered with.

Sources: git-lfs ``docs/api/batch.md`` and ``docs/api/basic-transfers.md``; huggingface_hub
``lfs.py``.
"""

import json
from functools import wraps
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from hub.credentials import actor_of
from hub.files import caching, serve_blob
from hub.hf.errors import BadRequest, refuse
from hub.hf.lfslink import DOWNLOAD_S, UPLOAD_S, Link, link_of
from hub.hf.preupload import size_in
from hub.hf.views import View, json_body, repository_view, text_in, wire
from hub.refusals import status_of
from registry.errors import NotFound, Unauthenticated
from registry.selectors.access import require_fetch
from registry.selectors.storage.lfsfile import blobs_held
from registry.services.storage.blob import blob_store, blob_used
from registry.services.storage.lfs import LfsObject, LfsTransfer, lfs_download, lfs_upload
from registry.services.storage.parts import part_store, part_url, parts_join
from registry.storage import PartUpload
from registry.tables import MLModel, User

MEDIA_TYPE = "application/vnd.git-lfs+json"
MAX_OBJECTS = 1000


def lfs_wire(**views: View) -> View:
    """:func:`hub.hf.views.wire` in the words of Git LFS."""
    plain = wire(**views)

    @wraps(plain)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = plain(request, *args, **kwargs)
        said_json = response.headers["Content-Type"] == "application/json"
        if said_json and isinstance(response, HttpResponse):
            # A refusal: what succeeds says MEDIA_TYPE, or is a file.
            said = json.loads(response.content)
            response.content = json.dumps({**said, "message": said["error"]}).encode()
            response.headers["Content-Type"] = MEDIA_TYPE
            if response.status_code == 401:
                # git-lfs asks its user for a name and password only if told so.
                response.headers["LFS-Authenticate"] = 'Basic realm="HPCFair"'
        return response

    return view


def asking_who(view: View) -> View:
    """:func:`repository_view`, but nobody is asked who they are where others may find something.

    git-lfs asks without credentials first, and takes "not found" for the last word.
    """
    found = repository_view(view)

    @wraps(found)
    def asked(request: HttpRequest, **names: Any) -> HttpResponseBase:
        try:
            return found(request, **names)
        except NotFound:
            if isinstance(actor_of(request), AnonymousUser):
                raise Unauthenticated(
                    "not_authenticated",
                    "There is no such repository for everybody.",
                    "Send a token as the password.",
                ) from None
            raise

    return asked


def batch(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../objects/batch``."""
    actor, data = actor_of(request), json_body(request)
    if data.get("hash_algo", "sha256") != "sha256":
        raise BadRequest("Objects are named by their SHA-256.")
    objects = _objects(data.get("objects"))
    token = actor.token if isinstance(actor, User) else None
    maker = str(token.uuid) if token else "", str(mlmodel.uuid)
    match text_in(data, "operation"):
        case "upload":
            transfers = data.get("transfers")
            in_parts = isinstance(transfers, list) and "multipart" in transfers
            ways = lfs_upload(actor=actor, mlmodel=mlmodel, objects=objects, in_parts=in_parts)
            answers = [_told(way, _upload_actions(way, *maker)) for way in ways]
            transfer = "multipart" if any(way.parts for way in ways) else "basic"
        case "download":
            ways = lfs_download(actor=actor, mlmodel=mlmodel, objects=objects)
            answers = [_told(way, _download_actions(way, *maker)) for way in ways]
            transfer = "basic"
        case other:
            raise BadRequest(f"{other[:50]!r} is no operation of Git LFS.")
    return _answer({"transfer": transfer, "objects": answers, "hash_algo": "sha256"})


def put(request: HttpRequest, signed: str) -> HttpResponse:
    """``PUT`` of a whole object."""
    link = link_of(signed, "upload", expires_s=UPLOAD_S)
    link.repository()
    _check_length(request, link.size_bytes)
    blob = blob_store(
        actor=link.actor(), stream=request, sha256=link.sha256, size_bytes=link.size_bytes
    )
    response = HttpResponse()
    response.headers["ETag"] = f'"{blob.sha256}"'
    return response


def put_part(request: HttpRequest, signed: str, number: str) -> HttpResponse:
    """``PUT`` of one part; sent again, it replaces what came before."""
    link = link_of(signed, "upload", expires_s=UPLOAD_S)
    link.repository()
    upload, position = link.upload, int(number)
    if not 1 <= position <= upload.count:
        raise BadRequest(f"The parts are numbered from 1 to {upload.count}.")
    _check_length(request, upload.length_of(position))
    response = HttpResponse()
    response.headers["ETag"] = f'"{part_store(upload=upload, number=position, stream=request)}"'
    return response


def complete(request: HttpRequest, signed: str) -> HttpResponse:
    """``POST`` after the last part: put them together."""
    link = link_of(signed, "upload", expires_s=UPLOAD_S)
    link.repository()
    etags = _etags(json_body(request).get("parts"))
    parts_join(actor=link.actor(), upload=link.upload, etags=etags, sha256=link.sha256)
    return _answer({"oid": link.sha256, "size": link.size_bytes})


def verify(request: HttpRequest, signed: str) -> HttpResponse:
    """``POST`` after an upload: is it here?"""
    link, data = link_of(signed, "upload", expires_s=UPLOAD_S), json_body(request)
    blob = blob_used(actor=link.actor(), sha256s=[link.sha256]).get(link.sha256)
    if blob is None or (text_in(data, "oid"), size_in(data)) != (blob.sha256, blob.size_bytes):
        raise NotFound("blob_not_found", "There is no such object here.")
    return _answer({})


def fetch(request: HttpRequest, signed: str) -> HttpResponseBase:
    """``GET`` and ``HEAD`` of an object."""
    link = link_of(signed, "download", expires_s=DOWNLOAD_S)
    mlmodel = link.repository()
    require_fetch(link.actor(), mlmodel)
    blob = blobs_held(mlmodel, [link.sha256]).get(link.sha256)
    if blob is None:
        raise NotFound("blob_not_found", "There is no such object here.")
    return serve_blob(request, blob, path=link.sha256, cache_control=caching(mlmodel, fixed=False))


def no_locks(request: HttpRequest, **names: str) -> HttpResponse:  # noqa: ARG001
    """``.../locks...``: git-lfs takes 404 for "nobody locks files here"."""
    return refuse(404, "Files are not locked here.")


def _told(way: LfsTransfer, actions: dict[str, Any]) -> dict[str, Any]:
    told = {"oid": way.requested.sha256, "size": way.requested.size_bytes}
    if way.refusal is not None:
        # 422 is what git-lfs calls an object that is wrong in itself.
        code = {400: 422}.get(status_of(way.refusal), status_of(way.refusal))
        return {**told, "error": {"code": code, "message": str(way.refusal)}}
    # No "actions" at all says that there is nothing to send; clients do not take an empty one.
    return {**told, "authenticated": True, **({"actions": actions} if actions else {})}


def _upload_actions(way: LfsTransfer, token: str, mlmodel: str) -> dict[str, Any]:
    if way.blob is not None or way.refusal is not None:
        return {}
    asked, parts = way.requested, way.parts
    named = (token, mlmodel, asked.sha256, asked.size_bytes)
    link = Link(*named, parts.key, parts.part_bytes) if parts else Link(*named)
    address = link.address("upload")
    upload: dict[str, Any] = {"href": address, "expires_in": UPLOAD_S}
    if parts is not None:
        upload["header"] = _part_addresses(parts, address)
    verify_action = {"href": f"{address}/verify", "expires_in": UPLOAD_S}
    return {"upload": upload, "verify": verify_action}


def _part_addresses(parts: PartUpload, address: str) -> dict[str, str]:
    header = {"chunk_size": str(parts.part_bytes)}
    for number in range(1, parts.count + 1):
        elsewhere = part_url(upload=parts, number=number, expires_s=UPLOAD_S)
        header[str(number)] = elsewhere or f"{address}/{number}"
    return header


def _download_actions(way: LfsTransfer, token: str, mlmodel: str) -> dict[str, Any]:
    if way.blob is None:
        return {}
    link = Link(token, mlmodel, way.blob.sha256, way.blob.size_bytes)
    return {"download": {"href": link.address("download"), "expires_in": DOWNLOAD_S}}


def _objects(given: Any) -> list[LfsObject]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadRequest("'objects' must be a list of objects.")
    if len(given) > MAX_OBJECTS:
        raise BadRequest(f"Ask for at most {MAX_OBJECTS} objects at once.")
    return [LfsObject(text_in(one, "oid"), size_in(one)) for one in given]


def _etags(parts: Any) -> dict[int, str]:
    if not isinstance(parts, list) or not all(
        isinstance(part, dict) and isinstance(part.get("partNumber"), int) for part in parts
    ):
        raise BadRequest("'parts' must be a list of objects of 'partNumber' and 'etag'.")
    return {part["partNumber"]: text_in(part, "etag").strip('"') for part in parts}


def _check_length(request: HttpRequest, size_bytes: int) -> None:
    """Refuse a body of another length before it is read, not after all of it."""
    announced = request.headers.get("Content-Length", "")
    if announced != str(size_bytes):
        raise BadRequest(f"This address takes {size_bytes} bytes, not {announced or 'any number'}.")


def _answer(data: dict[str, Any]) -> HttpResponse:
    return HttpResponse(json.dumps(data).encode(), content_type=MEDIA_TYPE)
