"""Cards before they are committed: ``POST /api/validate-yaml``.

Clients ask with every commit that touches README.md, signed in or not, and show what they are
told: as JSON, or, where they ask for ``text/plain``, as lines.
"""

from django.http import HttpRequest, HttpResponse

from hub.hf.views import json_answer, json_body, text_in
from registry.fair.card.findings import TEXT_FIELDS, findings_in, spelled
from registry.validation.advice import card_faults


def validate(request: HttpRequest) -> HttpResponse:
    """400 with all that keeps the card from being committed, 200 with what it lacks."""
    content = text_in(json_body(request), "content")
    errors, warnings = card_faults(content)
    status = 400 if errors else 200
    if not errors:
        warnings = [*warnings, *_warnings(content)]
    if "text/plain" in request.headers.get("Accept", ""):
        lines = [f"- Error: {text}" for text in errors] + [
            f"- Warning: {text}" for text in warnings
        ]
        return HttpResponse("\n".join(lines), status=status, content_type="text/plain")
    found = {"errors": errors, "warnings": warnings}
    return json_answer(
        {kind: [{"message": text} for text in texts] for kind, texts in found.items()}, status
    )


def _warnings(content: str) -> list[str]:
    """What is wrong in the card's values but keeps nothing from being committed.

    The text below them is not asked about here, and that a license is missing is told already.
    """
    return [
        spelled(one)
        for one in findings_in(content.encode())
        if one.field not in TEXT_FIELDS and one.code != "license_missing"
    ]
