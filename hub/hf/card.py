"""Validation of cards before a commit: ``POST /api/validate-yaml``.

Clients send README.md before each commit that changes it, with or without a token, and show the
result: JSON or, if they accept ``text/plain``, lines of text.
"""

from django.http import HttpRequest, HttpResponse

from hub.hf.views import json_answer, json_body, text_in
from registry.fair.card.findings import TEXT_FIELDS, findings_in, spelled
from registry.states import RepositoryKind
from registry.validation.card_faults import card_faults


def validate(request: HttpRequest) -> HttpResponse:
    """400 with the errors that prevent a commit, or 200 with warnings."""
    body = json_body(request)
    content = text_in(body, "content")
    is_dataset = body.get("repoType") == RepositoryKind.DATASET
    kind = RepositoryKind.DATASET if is_dataset else RepositoryKind.MODEL
    errors, warnings = card_faults(content, kind)
    status = 400 if errors else 200
    if not errors:
        warnings = [*warnings, *_warnings(content)]
    if "text/plain" in request.headers.get("Accept", ""):
        lines = [f"- Error: {text}" for text in errors] + [
            f"- Warning: {text}" for text in warnings
        ]
        return HttpResponse("\n".join(lines), status=status, content_type="text/plain")
    results = {"errors": errors, "warnings": warnings}
    return json_answer(
        {kind: [{"message": text} for text in texts] for kind, texts in results.items()}, status
    )


def _warnings(content: str) -> list[str]:
    """Warnings about the card's values; those of its text and a missing license are omitted."""
    return [
        spelled(one)
        for one in findings_in(content.encode())
        if one.field not in TEXT_FIELDS and one.code != "license_missing"
    ]
