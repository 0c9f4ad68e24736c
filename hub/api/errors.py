"""Errors as ``application/problem+json`` (RFC 9457).

::

    {"type": ".../docs/errors#stale_parent", "title": "Branch moved on", "status": 409,
     "code": "stale_parent", "detail": "...", "hint": "...", "fields": {"parent": "..."}}

Programs read ``code``; ``title`` explains the code, ``detail`` the error of this request, and
``hint`` what to do about it.
"""

import logging
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from hub.middleware import request_id_of
from hub.problems import CONTENT_TYPE, problem_document
from hub.refusals import RETRY_AFTER_S, status_of
from registry.errors import RateLimited, RegistryError, TooLarge

logger = logging.getLogger(__name__)

REALM = 'Bearer realm="HPCFair"'

#: Exceptions of the framework to code and hint.
FRAMEWORK: dict[type[exceptions.APIException], tuple[str, str]] = {
    exceptions.ParseError: ("invalid_request", "Send a JSON document."),
    exceptions.NotAuthenticated: ("not_authenticated", "Send a token, or sign in."),
    exceptions.AuthenticationFailed: ("token_invalid", "Send a valid token."),
    exceptions.PermissionDenied: ("permission_denied", ""),
    exceptions.NotFound: ("page_not_found", "/api/docs lists the addresses."),
    exceptions.MethodNotAllowed: ("method_not_allowed", "The Allow header lists the methods."),
    exceptions.NotAcceptable: ("not_acceptable", "The API answers in JSON."),
    exceptions.UnsupportedMediaType: (
        "unsupported_media_type",
        "Send JSON with Content-Type: application/json.",
    ),
    exceptions.Throttled: ("rate_limited", "Wait as long as the Retry-After header says."),
}


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """Django REST framework's exception handler: every error becomes a problem document."""
    match translated := _translated(error):
        case RegistryError():
            return _refusal(translated)
        case exceptions.ValidationError():
            return _invalid(translated)
        case exceptions.APIException():
            return _framework(translated)
    return _unexpected(error, context)


def _translated(error: Exception) -> Exception:
    """Django's exceptions as those of the REST framework or of the domain."""
    match error:
        case Http404():
            return exceptions.NotFound("There is no such address.")
        case PermissionDenied():
            return exceptions.PermissionDenied()
        case RequestDataTooBig():
            return body_too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
        case UnreadablePostError():
            return exceptions.ParseError("The body ended before its announced length.")
        case SuspiciousOperation():
            return exceptions.ParseError("The request is malformed.")
    return error


def problem(
    code: str,
    status: int,
    detail: str,
    hint: str = "",
    *,
    fields: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """A problem document."""
    document = problem_document(code, status, detail, hint, fields)
    return Response(document, status, headers=headers, content_type=CONTENT_TYPE)


def body_too_large(limit: int) -> TooLarge:
    """The refusal of a body over ``limit`` bytes."""
    return TooLarge(
        "body_too_large",
        f"The body is larger than the {limit} bytes this address accepts.",
        "Send files by PUT /api/v1/blobs/{sha256}, one each; JSON bodies must be small.",
    )


def _refusal(error: RegistryError) -> Response:
    status = status_of(error)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = (
            REALM if error.code == "not_authenticated" else f'{REALM}, error="invalid_token"'
        )
    elif error.code == "scope_missing":
        headers["WWW-Authenticate"] = f'{REALM}, error="insufficient_scope"'
    elif isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after_s)
    elif status == 503:
        headers["Retry-After"] = RETRY_AFTER_S
    return problem(
        error.code, status, error.detail, error.hint, fields=error.fields, headers=headers
    )


def _invalid(error: exceptions.ValidationError) -> Response:
    fields = dict(_flatten(error.detail))
    detail = "; ".join(f"{name}: {error}" if name else error for name, error in fields.items())
    return problem("invalid_request", 400, detail, "Correct the fields named.", fields=fields)


def _framework(error: exceptions.APIException) -> Response:
    base = next((kind for kind in type(error).__mro__ if kind in FRAMEWORK), None)
    code, hint = FRAMEWORK[base] if base else ("invalid_request", "")
    headers = {}
    if error.status_code == 401:
        headers["WWW-Authenticate"] = REALM
    wait_s = getattr(error, "wait", None)
    if wait_s is not None:
        headers["Retry-After"] = str(max(1, round(wait_s)))
    return problem(code, error.status_code, str(error.detail), hint, headers=headers)


def _unexpected(error: Exception, context: dict[str, Any]) -> Response:
    """An internal error: the log has the traceback under an id, the response has the id."""
    request, view = context["request"], context["view"]
    error_id = request_id_of(request)
    logger.error(
        "internal error %s at %s %s", error_id, request.method, request.path, exc_info=error
    )
    # Error reporting and Django's test client listen to this signal, as for any other view.
    got_request_exception.send(sender=type(view), request=request._request)  # noqa: SLF001
    return problem(
        "internal_error",
        500,
        "The hub failed to answer this request.",
        f"Report the error id {error_id} to the operator; a retry may succeed.",
    )


def _flatten(detail: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested validation errors as pairs of dotted path and message: ``operations.0.path``."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _flatten(inner, ".".join(part for part in (prefix, own) if part))
    elif isinstance(detail, list) and any(isinstance(item, dict | list) for item in detail):
        for number, inner in enumerate(detail):
            if inner:
                yield from _flatten(inner, f"{prefix}.{number}" if prefix else str(number))
    elif isinstance(detail, list):
        yield prefix, " ".join(str(item) for item in detail)
    else:
        yield prefix, str(detail)
