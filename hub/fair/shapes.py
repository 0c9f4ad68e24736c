"""``/shapes/record``: the SHACL shape of complete records."""

import json

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, TURTLE, preferred_type, public
from registry.fair.linked import shape
from registry.selectors.fair.hub import this_hub


@require_safe
def record(request: HttpRequest) -> HttpResponse:
    """The shape as Turtle or JSON-LD."""
    url = this_hub().shape_url
    form = preferred_type(request, (TURTLE, JSONLD))
    data = shape.render(url) if form == TURTLE else _jsonld(url)
    response = public(request, data, form)
    patch_vary_headers(response, ["Accept"])
    return response


def _jsonld(url: str) -> bytes:
    return json.dumps(shape.document(url), ensure_ascii=False, indent=1).encode()
