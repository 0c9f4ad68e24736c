"""Git LFS: large files for clients without Xet, and for ``git clone``.

A client posts the digests of many objects to ``{repository}.git/info/lfs/objects/batch`` and gets
an address for each. Clients send no credentials to these addresses, so each is signed: see
:mod:`hub.hf.lfslink`. ``multipart`` is the Hugging Face Hub's own transfer: the addresses ``"1"``
to ``"N"`` take the parts, and a final POST names the ETag of each.

Sources: git-lfs ``docs/api/{batch,basic-transfers}.md``; huggingface_hub ``lfs.py``.
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
from hub.hf.lfslink import DOWNLOAD_S, UPLOAD_S, SignedLink, link_of
from hub.hf.preupload import size_in
from hub.hf.views import View, json_body, repository_view, text_in, wire
from hub.refusals import status_of
from registry.errors import NotFound, Unauthenticated
from registry.selectors.repository.gate import require_fetch
from registry.selectors.storage.lfsfile import blobs_held
from registry.services.storage.blob import blob_store, blob_used
from registry.services.storage.lfs import LfsObject, LfsTransfer, lfs_download, lfs_upload
from registry.services.storage.parts import part_store, part_url, parts_join
from registry.storage import PartUpload
from registry.tables import MLModel, User

MEDIA_TYPE = "application/vnd.git-lfs+json"
MAX_OBJECTS = 1000


def lfs_wire(**views: View) -> View:
    """:func:`hub.hf.views.wire` with errors in the format of Git LFS."""
    plain = wire(**views)

    @wraps(plain)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = plain(request, *args, **kwargs)
        is_json = response.headers["Content-Type"] == "application/json"
        if is_json and isinstance(response, HttpResponse):
            # An error: successful answers have MEDIA_TYPE, or are files.
            body = json.loads(response.content)
            response.content = json.dumps({**body, "message": body["error"]}).encode()
            response.headers["Content-Type"] = MEDIA_TYPE
            if response.status_code == 401:
                # git-lfs prompts for a name and password only with this header.
                response.headers["LFS-Authenticate"] = 'Basic realm="HPCFair"'
        return response

    return view


def authenticating(view: View) -> View:
    """:func:`repository_view` with 401 for anonymous 404s, which git-lfs would take as final."""
    inner = repository_view(view)

    @wraps(inner)
    def wrapper(request: HttpRequest, **names: Any) -> HttpResponseBase:
        try:
            return inner(request, **names)
        except NotFound:
            if isinstance(actor_of(request), AnonymousUser):
                raise Unauthenticated(
                    "not_authenticated",
                    "There is no such public repository.",
                    "Send a token as the password.",
                ) from None
            raise

    return wrapper


def batch(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../objects/batch``."""
    actor, data = actor_of(request), json_body(request)
    if data.get("hash_algo", "sha256") != "sha256":
        raise BadRequest("Objects are named by their SHA-256.")
    objects = _objects(data.get("objects"))
    token = actor.token if isinstance(actor, User) else None
    link_owner = str(token.uuid) if token else "", str(mlmodel.uuid)
    match text_in(data, "operation"):
        case "upload":
            transfers = data.get("transfers")
            in_parts = isinstance(transfers, list) and "multipart" in transfers
            plans = lfs_upload(actor=actor, mlmodel=mlmodel, objects=objects, in_parts=in_parts)
            answers = [_object(plan, _upload_actions(plan, *link_owner)) for plan in plans]
            transfer = "multipart" if any(plan.parts for plan in plans) else "basic"
        case "download":
            plans = lfs_download(actor=actor, mlmodel=mlmodel, objects=objects)
            answers = [_object(plan, _download_actions(plan, *link_owner)) for plan in plans]
            transfer = "basic"
        case other:
            raise BadRequest(f"{other[:50]!r} is not an operation of Git LFS.")
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
    """``PUT`` of one part; a repeated part replaces the earlier one."""
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
    """``POST`` after the last part: join them."""
    link = link_of(signed, "upload", expires_s=UPLOAD_S)
    link.repository()
    etags = _etags(json_body(request).get("parts"))
    parts_join(actor=link.actor(), upload=link.upload, etags=etags, sha256=link.sha256)
    return _answer({"oid": link.sha256, "size": link.size_bytes})


def verify(request: HttpRequest, signed: str) -> HttpResponse:
    """``POST`` after an upload: whether the object is stored."""
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
    """``.../locks...``: 404 tells git-lfs that locking is not supported."""
    return refuse(404, "This hub has no file locks.")


def _object(plan: LfsTransfer, actions: dict[str, Any]) -> dict[str, Any]:
    shape = {"oid": plan.requested.sha256, "size": plan.requested.size_bytes}
    if plan.refusal is not None:
        # git-lfs expects 422 for an invalid object.
        code = {400: 422}.get(status_of(plan.refusal), status_of(plan.refusal))
        return {**shape, "error": {"code": code, "message": str(plan.refusal)}}
    # Clients reject empty "actions".
    return {**shape, "authenticated": True, **({"actions": actions} if actions else {})}


def _upload_actions(plan: LfsTransfer, token: str, mlmodel: str) -> dict[str, Any]:
    if plan.blob is not None or plan.refusal is not None:
        return {}
    requested, parts = plan.requested, plan.parts
    claims = (token, mlmodel, requested.sha256, requested.size_bytes)
    link = SignedLink(*claims, parts.key, parts.part_bytes) if parts else SignedLink(*claims)
    address = link.address("upload")
    upload: dict[str, Any] = {"href": address, "expires_in": UPLOAD_S}
    if parts is not None:
        upload["header"] = _part_addresses(parts, address)
    verify_action = {"href": f"{address}/verify", "expires_in": UPLOAD_S}
    return {"upload": upload, "verify": verify_action}


def _part_addresses(parts: PartUpload, address: str) -> dict[str, str]:
    header = {"chunk_size": str(parts.part_bytes)}
    for number in range(1, parts.count + 1):
        store_url = part_url(upload=parts, number=number, expires_s=UPLOAD_S)
        header[str(number)] = store_url or f"{address}/{number}"
    return header


def _download_actions(plan: LfsTransfer, token: str, mlmodel: str) -> dict[str, Any]:
    if plan.blob is None:
        return {}
    link = SignedLink(token, mlmodel, plan.blob.sha256, plan.blob.size_bytes)
    return {"download": {"href": link.address("download"), "expires_in": DOWNLOAD_S}}


def _objects(items: Any) -> list[LfsObject]:
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise BadRequest("'objects' must be a list of objects.")
    if len(items) > MAX_OBJECTS:
        raise BadRequest(f"Ask for at most {MAX_OBJECTS} objects at once.")
    return [LfsObject(text_in(one, "oid"), size_in(one)) for one in items]


def _etags(parts: Any) -> dict[int, str]:
    if not isinstance(parts, list) or not all(
        isinstance(part, dict) and isinstance(part.get("partNumber"), int) for part in parts
    ):
        raise BadRequest("'parts' must be a list of objects of 'partNumber' and 'etag'.")
    return {part["partNumber"]: text_in(part, "etag").strip('"') for part in parts}


def _check_length(request: HttpRequest, size_bytes: int) -> None:
    announced = request.headers.get("Content-Length", "")
    if announced != str(size_bytes):
        raise BadRequest(
            f"This address takes {size_bytes} bytes, not {announced or 'an unknown number'}."
        )


def _answer(data: dict[str, Any]) -> HttpResponse:
    return HttpResponse(json.dumps(data).encode(), content_type=MEDIA_TYPE)
