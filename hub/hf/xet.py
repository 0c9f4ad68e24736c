"""Xet: how clients upload large files since huggingface_hub 1.20, whatever the server prefers.

A client asks for a *ticket* at the repository's API address and is told where its Xet address is:
``/xet/{uuid}/{epoch}``. There it asks which chunks are known, sends the others packed in xorbs, and
at last a shard that says how the files are made of them; a commit then names the files by SHA-256.

Clients remember for three weeks what they sent to an address and do not send it again. So the
address has an epoch that counts up whenever that may no longer be true. Whoever began at an
earlier address may finish there.

Only uploads are offered: a file is downloaded whole, like any other (ADR 0011). Sources:
huggingface/xet-core ``openapi/cas.openapi.yaml``, ``xet_client/src/cas_client/remote_client.rs``;
huggingface_hub ``utils/_xet.py``.
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

# Clients ask for another ticket a minute before; a transfer in flight is judged at its start.
_TICKET_S = 2 * 3600
_SALT = "hub.hf.xet"
_PIECE_BYTES = 1 << 20

_CasView = Callable[..., HttpResponseBase]


def write_token(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:
    """``GET .../xet-write-token/{rev}[?create_pr=1]``: a ticket, in headers and as JSON.

    Whoever may read may propose a change, so they get one where the upload is for a pull request.
    Where no room at all is left, that is said before anything is sent.
    """
    user = signed_in(request)
    require_contributor(user, mlmodel)
    if not (flag_in(request.GET, "create_pr") or rev.startswith("refs/pr/")):
        require(user, role=Role.WRITE, namespace=mlmodel.namespace)
    if user.token is None:
        # A ticket stands for a token, and ends with it.
        raise Unauthenticated(
            "not_authenticated", "A browser's session cannot upload.", "Send a token."
        )
    quota_check(mlmodel.namespace, 1)
    end = int(time.time()) + _TICKET_S
    claims = [str(user.token.uuid), str(mlmodel.uuid), mlmodel.xet_epoch, end]
    ticket = signing.dumps(claims, salt=_SALT)
    address = absolute(f"/xet/{mlmodel.uuid}/{mlmodel.xet_epoch}")
    response = json_answer({"casUrl": address, "accessToken": ticket, "exp": end})
    response.headers["X-Xet-Cas-Url"] = address
    response.headers["X-Xet-Access-Token"] = ticket
    response.headers["X-Xet-Token-Expiration"] = str(end)
    response.headers["Cache-Control"] = "no-store"
    return response


def read_token(request: HttpRequest, mlmodel: MLModel, rev: str) -> HttpResponse:  # noqa: ARG001
    """``GET .../xet-read-token/{rev}``: there is none, and no file says that there is."""
    return refuse(404, "Files are not offered by Xet here; fetch them whole.")


def with_ticket(view: _CasView) -> _CasView:
    """Give ``view`` the person and the repository of the address, if the ticket is for them."""

    @wraps(view)
    def admitted(request: HttpRequest, uuid: str, epoch: str, **rest: Any) -> HttpResponseBase:
        try:
            user, mlmodel = _admit(request, uuid, int(epoch))
            return view(request, user, mlmodel, **rest)
        except RegistryError:
            # A server that closes on a client in mid-sentence cuts its own answer off: the client
            # would not learn that it need not try again.
            _drain(request)
            raise

    return admitted


def xorb(request: HttpRequest, user: User, mlmodel: MLModel, digest: str) -> HttpResponse:
    """``POST v1/xorbs/default/{hash}``."""
    length = request.headers.get("Content-Length", "")
    new = xorb_store(
        actor=user,
        mlmodel=mlmodel,
        xorb_hash=digest,
        stream=request,
        size_bytes=int(length) if length.isdecimal() and len(length) <= 18 else 0,
    )
    return json_answer({"was_inserted": new})


def shard(request: HttpRequest, user: User, mlmodel: MLModel) -> HttpResponse:
    """``POST v1/shards``. Never the 0 for "known": it would tell of other people's files."""
    shard_register(actor=user, mlmodel=mlmodel, stream=request)
    return json_answer({"result": 1})


def chunk(request: HttpRequest, user: User, mlmodel: MLModel, digest: str) -> HttpResponse:  # noqa: ARG001
    """``GET v1/chunks/default/{hash}``: a shard to dedup against; 404 if there is none."""
    found = shard_recall(actor=user, mlmodel=mlmodel, chunk=parsed(digest) or b"")
    if found is None:
        return _unlogged(refuse(404, "No such chunk is known."))
    return HttpResponse(found, content_type="application/octet-stream")


def absent(request: HttpRequest) -> HttpResponse:
    """What the protocol has and this hub has not: clients take 404 for an older server."""
    _drain(request)
    return _unlogged(refuse(404, "This hub does not offer that part of Xet."))


def telemetry(request: HttpRequest) -> HttpResponse:
    """``POST /v1/telemetry``: measurements that clients send unasked. Nobody keeps them."""
    _drain(request)
    return HttpResponse(status=204)


def _admit(request: HttpRequest, uuid: str, epoch: int) -> tuple[User, MLModel]:
    ticket = request.headers.get("Authorization", "").removeprefix("Bearer ")
    try:
        token_uuid, mlmodel_uuid, newest, end = signing.loads(ticket, salt=_SALT)
    except signing.BadSignature:
        raise Unauthenticated("token_invalid", "The ticket is not one of this hub's.") from None
    if end <= time.time():
        raise Unauthenticated("token_expired", "The ticket expired.")
    user = user_of_token_uuid(token_uuid)
    if parse_uuid(mlmodel_uuid) != parse_uuid(uuid) or epoch > newest:
        raise Forbidden("permission_denied", "The ticket is for another address.")
    rows = readable_repositories(user).filter(uuid=parse_uuid(uuid))
    mlmodel = rows.select_related("namespace").first()
    if mlmodel is None:
        raise NotFound("model_not_found", "The repository is gone, or you may not read it.")
    return user, mlmodel


def _unlogged(response: HttpResponse) -> HttpResponse:
    # Every upload meets several of these; Django would warn the operator of each.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def _drain(request: HttpRequest) -> None:
    left = shards.MAX_BYTES
    while left > 0 and (piece := request.read(_PIECE_BYTES)):
        left -= len(piece)
