"""Refusals as the Hugging Face clients read them.

They look at the status, at ``X-Error-Code`` for a few conditions they have exceptions for, and
show ``X-Error-Message`` or ``{"error": ...}`` to the person (``hf_raise_for_status``). A bare 401
or 404 is not understood on plain ``http://`` addresses, so the code is always sent.
"""

import json
import logging
import uuid

from django.core import exceptions
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase

from hub.refusals import status_of
from registry.errors import NotFound, RegistryError

logger = logging.getLogger(__name__)

_HF_CODES = {
    "model_not_found": "RepoNotFound",
    "dataset_not_found": "RepoNotFound",
    "revision_not_found": "RevisionNotFound",
    "file_not_found": "EntryNotFound",
    "access_gated": "GatedRepo",
}
#: Where the protocol's status is not the one of the refusal's class.
_HF_STATUSES = {"stale_parent": 412, "invalid_path": 422}
#: Where clients, or the people who use them, know the Hub's own words.
_HF_MESSAGES = {
    "stale_parent": "The branch was updated since you opened this page. Please refresh and try "
    "again.",
    **dict.fromkeys(
        ("token_invalid", "token_expired", "token_revoked"),
        "Invalid credentials in Authorization header",
    ),
}


class BadRequest(Exception):
    """The request cannot be understood; the text says why."""


def answer(request: HttpRequest, error: Exception) -> HttpResponse:
    """The response for whatever a view raised; an unexpected error is logged and named."""
    match error:
        case RegistryError():
            return _refusal(error)
        case Http404():
            return refuse(404, "There is nothing at this address.")
        case BadRequest():
            return refuse(400, str(error))
        case exceptions.RequestDataTooBig():
            return refuse(413, "The body is larger than this address takes.")
        case (
            UnreadablePostError()
            | exceptions.SuspiciousOperation()
            # What Django makes of forms that are none.
            | exceptions.BadRequest()
            | MultiPartParserError()
        ):
            return refuse(400, "The request is malformed, or its body was cut off.")
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return refuse(500, "The hub failed; its log knows the request id.")


def refuse(status: int, message: str, *, code: str = "", **more: str) -> HttpResponse:
    """An error answer.

    Args:
        code: ``X-Error-Code``, one of the protocol's.
        more: Further members of the JSON body.
    """
    body = json.dumps({"error": message, **more}).encode()
    response = HttpResponse(body, status=status, content_type="application/json")
    # A header holds one line of Latin-1; the body holds the message as it is.
    response.headers["X-Error-Message"] = (
        " ".join(message.split()).encode("ascii", "replace").decode()[:1000]
    )
    if code:
        response.headers["X-Error-Code"] = code
    return response


def name_request(request: HttpRequest, response: HttpResponseBase) -> None:
    """Let ``response`` carry the id the client gave the request, or a new one."""
    given = request.headers.get("X-Request-Id") or request.headers.get("X-Amzn-Trace-Id") or ""
    given = given if given.isascii() and given.isprintable() else ""
    response.headers["X-Request-Id"] = given[:128] or str(uuid.uuid4())


def _refusal(error: RegistryError) -> HttpResponse:
    message = _HF_MESSAGES.get(error.code, str(error))
    status = _HF_STATUSES.get(error.code, status_of(error))
    code = _HF_CODES.get(error.code, "EntryNotFound" if isinstance(error, NotFound) else "")
    return refuse(status, message, code=code)
