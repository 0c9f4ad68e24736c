"""Pages that explain."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from registry.errors import CODES


def errors(request: HttpRequest) -> HttpResponse:
    """Every error code with its meaning: where the ``type`` of a problem document leads."""
    return render(request, "docs/errors.html", {"codes": sorted(CODES.items())})
