"""Xet uploads: the way huggingface_hub uploads large files since 1.20.

A client requests a *ticket* at the repository's API address and gets the repository's Xet address:
``/xet/{uuid}/{epoch}``. There it asks which chunks are stored, sends the others packed in xorbs,
and finally a shard that composes files of chunks; a commit then names the files by SHA-256.

Clients remember for three weeks which chunks they sent to an address, and do not repeat them. The
address therefore has an epoch, which is incremented whenever stored chunks may have been deleted.
Uploads in progress may finish at an earlier address. Downloads: :mod:`hub.hf.xetread`.

Sources: huggingface/xet-core ``openapi/cas.openapi.yaml``,
``xet_client/src/cas_client/remote_client.rs``; huggingface_hub ``utils/_xet.py``.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from hub.credentials import signed_in
from hub.hf.errors import refuse
from hub.hf.views import absolute, flag_in, json_answer
from registry.errors import Forbidden, NotFound, RegistryError, Unauthenticated
from registry.ids import parse_uuid
from registry.selectors.access import readable_repositories, require
from registry.selectors.people.account import user_of_token_uuid
from registry.services.storage.quota import quota_check
from registry.services.storage.shard import shard_recall, shard_register
from registry.services.storage.xorb import require_contributor, xorb_store
from registry.states import Role
from registry.tables import MLModel, User
from registry.xet import shard as shards
from registry.xet.hashes import parsed

# Clients renew tickets a minute before they expire; a transfer is checked at its start.
_TICKET_S = 2 * 3600
_SALT = "hub.hf.xet"
_PIECE_BYTES = 1 << 20

_CasView = Callable[..., HttpResponseBase]


def write_token(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:
    """``GET .../xet-write-token/{rev}[?create_pr=1]``: a ticket, in headers and as JSON.

    Readers may propose changes, so they get tickets for pull requests. An exhausted quota is
    reported here, before anything is sent.
    """
    user = signed_in(request)
    require_contributor(user, mlmodel)
    if not (flag_in(request.GET, "create_pr") or rev.startswith("refs/pr/")):
        require(user, role=Role.WRITE, namespace=mlmodel.namespace)
    if user.token is None:
        # A ticket acts for a token, and is revoked with it.
        raise Unauthenticated(
            "not_authenticated", "A browser session cannot upload.", "Send a token."
        )
    quota_check(mlmodel.namespace, 1)
    claims = [str(user.token.uuid), str(mlmodel.uuid), mlmodel.xet_epoch]
    address = absolute(f"/xet/{mlmodel.uuid}/{mlmodel.xet_epoch}")
    return ticket_answer(address, claims, salt=_SALT)


def ticket_answer(address: str, claims: list[Any], *, salt: str) -> HttpResponse:
    """A new ticket for the Xet address ``address``, in headers and as JSON: clients read either."""
    end = int(time.time()) + _TICKET_S
    ticket = signing.dumps([*claims, end], salt=salt)
    response = json_answer({"casUrl": address, "accessToken": ticket, "exp": end})
    response.headers["X-Xet-Cas-Url"] = address
    response.headers["X-Xet-Access-Token"] = ticket
    response.headers["X-Xet-Token-Expiration"] = str(end)
    response.headers["Cache-Control"] = "no-store"
    return response


def bearer_claims(request: HttpRequest, *, salt: str) -> list[Any]:
    """The claims of the request's ticket. Raises ``Unauthenticated`` if it is not valid."""
    ticket = request.headers.get("Authorization", "").removeprefix("Bearer ")
    claims: list[Any]
    try:
        *claims, end = signing.loads(ticket, salt=salt)
    except signing.BadSignature:
        raise Unauthenticated("token_invalid", "The ticket was not issued by this hub.") from None
    if end <= time.time():
        raise Unauthenticated("token_expired", "The ticket is expired.")
    return claims


def with_ticket(view: _CasView) -> _CasView:
    """Decorator that passes user and repository of the ticket: ``view(request, user, mlmodel)``."""

    @wraps(view)
    def wrapper(request: HttpRequest, uuid: str, epoch: str, **rest: Any) -> HttpResponseBase:
        try:
            user, mlmodel = _admit(request, uuid, int(epoch))
            return view(request, user, mlmodel, **rest)
        except RegistryError:
            # An unread body would truncate the answer, and the client would retry.
            _drain(request)
            raise

    return wrapper


def xorb(request: HttpRequest, user: User, mlmodel: MLModel, digest: str) -> HttpResponse:
    """``POST v1/xorbs/default/{hash}``."""
    length = request.headers.get("Content-Length", "")
    is_new = xorb_store(
        actor=user,
        mlmodel=mlmodel,
        xorb_hash=digest,
        stream=request,
        size_bytes=int(length) if length.isdecimal() and len(length) <= 18 else 0,
    )
    return json_answer({"was_inserted": is_new})


def shard(request: HttpRequest, user: User, mlmodel: MLModel) -> HttpResponse:
    """``POST v1/shards``. Never answers 0, "already stored", which would disclose others' files."""
    shard_register(actor=user, mlmodel=mlmodel, stream=request)
    return json_answer({"result": 1})


def chunk(request: HttpRequest, user: User, mlmodel: MLModel, digest: str) -> HttpResponse:  # noqa: ARG001
    """``GET v1/chunks/default/{hash}``: a shard for deduplication; 404 if there is none."""
    data = shard_recall(actor=user, mlmodel=mlmodel, chunk=parsed(digest) or b"")
    if data is None:
        return _unlogged(refuse(404, "No such chunk is stored."))
    return HttpResponse(data, content_type="application/octet-stream")


def absent(request: HttpRequest) -> HttpResponse:
    """Unsupported parts of the protocol: 404 tells clients that the server is older."""
    _drain(request)
    return _unlogged(refuse(404, "This hub does not support this part of Xet."))


def telemetry(request: HttpRequest) -> HttpResponse:
    """``POST /v1/telemetry``: measurements of clients, which are discarded."""
    _drain(request)
    return HttpResponse(status=204)


def _admit(request: HttpRequest, uuid: str, epoch: int) -> tuple[User, MLModel]:
    token_uuid, mlmodel_uuid, newest = bearer_claims(request, salt=_SALT)
    user = user_of_token_uuid(token_uuid)
    if parse_uuid(mlmodel_uuid) != parse_uuid(uuid) or epoch > newest:
        raise Forbidden("permission_denied", "The ticket is for another address.")
    rows = readable_repositories(user).filter(uuid=parse_uuid(uuid))
    mlmodel = rows.select_related("namespace").first()
    if mlmodel is None:
        raise NotFound("model_not_found", "The repository does not exist, or you may not read it.")
    return user, mlmodel


def _unlogged(response: HttpResponse) -> HttpResponse:
    # Each upload has several of these, and Django would log a warning for each.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def _drain(request: HttpRequest) -> None:
    left = shards.MAX_BYTES
    while left > 0 and (piece := request.read(_PIECE_BYTES)):
        left -= len(piece)
