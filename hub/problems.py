"""Problem documents (RFC 9457), outside of the API's own views too."""

import json
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from registry.errors import CODES, RegistryError

CONTENT_TYPE = "application/problem+json"


def problem_document(
    code: str, status: int, detail: str, hint: str = "", fields: dict[str, str] | None = None
) -> dict[str, Any]:
    """The members of a problem document; see :mod:`hub.api.errors`."""
    return {
        "type": f"{settings.HUB_URL}/docs/errors#{code}",
        "title": CODES[code],
        "status": status,
        "code": code,
        "detail": detail,
        "hint": hint,
        "fields": fields or {},
    }


def problem_answer(
    error: RegistryError, status: int, *, more: dict[str, Any] | None = None
) -> HttpResponse:
    """A problem document as a response, with ``more`` members.

    Clients of the Hugging Face Hub show ``error`` and its header field instead of ``detail``.
    """
    document = problem_document(error.code, status, error.detail, error.hint, error.fields)
    body = json.dumps({**document, "error": str(error), **(more or {})}).encode()
    response = HttpResponse(body, status=status, content_type=CONTENT_TYPE)
    response.headers["X-Error-Message"] = (
        " ".join(str(error).split()).encode("ascii", "replace").decode()[:1000]
    )
    return response
