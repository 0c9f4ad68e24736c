"""``/shapes/record`` and ``/shapes/core``: the SHACL shapes of complete and of all records."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, TURTLE, preferred_type, public
from registry.fair.linked import shape
from registry.fair.linked.turtle import turtle
from registry.selectors.fair.hub import this_hub


@require_safe
def record(request: HttpRequest) -> HttpResponse:
    """The shape of complete records as Turtle or JSON-LD."""
    return _answer(request, shape.document(this_hub()))


@require_safe
def core(request: HttpRequest) -> HttpResponse:
    """The core shape as Turtle or JSON-LD."""
    return _answer(request, shape.core_document(this_hub()))


def _answer(request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
    form = preferred_type(request, (TURTLE, JSONLD))
    data = turtle(document) if form == TURTLE else _jsonld(document)
    response = public(request, data, form)
    patch_vary_headers(response, ["Accept"])
    return response


def _jsonld(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode()
