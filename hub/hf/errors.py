"""Errors of the protocol.

Clients read the status and, for a few exceptions, ``X-Error-Code``, and show ``X-Error-Message`` or
``{"error": ...}`` (``hf_raise_for_status``). A missing repository, revision or file has its code;
other missing things have none, because clients would report a missing file.
"""

import json
import logging

from django.core import exceptions
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from hub.middleware import request_id_of
from hub.refusals import status_of
from registry.errors import RateLimited, RegistryError

logger = logging.getLogger(__name__)

_HF_CODES = {
    "model_not_found": "RepoNotFound",
    "dataset_not_found": "RepoNotFound",
    "revision_not_found": "RevisionNotFound",
    "file_not_found": "EntryNotFound",
    "access_gated": "GatedRepo",
}
#: Codes whose status in this protocol differs from that of their class.
_HF_STATUSES = {"stale_parent": 412, "invalid_path": 422}
#: Codes for which clients or their users rely on the Hugging Face Hub's own text.
_HF_MESSAGES = {
    **dict.fromkeys(("model_not_found", "dataset_not_found"), "Repository not found"),
    "stale_parent": "The branch was updated since you opened this page. Please refresh and try "
    "again.",
    **dict.fromkeys(
        ("token_invalid", "token_expired", "token_revoked"),
        "Invalid credentials in Authorization header",
    ),
}


class BadRequest(Exception):
    """The request is malformed; the text is the reason."""


def answer(request: HttpRequest, error: Exception) -> HttpResponse:
    """The response for an exception of a view; an unexpected one is logged, and answered by 500."""
    match error:
        case RegistryError():
            return _refusal(error)
        case Http404():
            return refuse(404, "There is no such address.")
        case BadRequest():
            return refuse(400, str(error))
        case exceptions.RequestDataTooBig():
            return refuse(413, "The body is larger than this address accepts.")
        case (
            UnreadablePostError()
            | exceptions.SuspiciousOperation()
            # Django's exceptions for malformed forms.
            | exceptions.BadRequest()
            | MultiPartParserError()
        ):
            return refuse(400, "The request is malformed, or its body is incomplete.")
    request_id = request_id_of(request)
    logger.error("%s: %s %s failed", request_id, request.method, request.path, exc_info=error)
    return refuse(500, f"Internal error; the hub's log has the details of request {request_id}.")


def refuse(status: int, message: str, *, code: str = "", **more: str) -> HttpResponse:
    """An error answer; ``code`` is its ``X-Error-Code``, ``more`` are further JSON members."""
    body = json.dumps({"error": message, **more}).encode()
    response = HttpResponse(body, status=status, content_type="application/json")
    # A header holds one line of ASCII; the body has the full message.
    response.headers["X-Error-Message"] = (
        " ".join(message.split()).encode("ascii", "replace").decode()[:1000]
    )
    if code:
        response.headers["X-Error-Code"] = code
    return response


def _refusal(error: RegistryError) -> HttpResponse:
    message = _HF_MESSAGES.get(error.code, str(error))
    status = _HF_STATUSES.get(error.code, status_of(error))
    response = refuse(status, message, code=_HF_CODES.get(error.code, ""))
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response
