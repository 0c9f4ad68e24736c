"""All typed links of a version: ``/{ns}/{name}/linkset?revision=...``."""

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from hub.fair.documents import LINKSET, LINKSET_TEXT, document
from hub.fair.negotiation import preferred
from hub.fair.subject import description_view
from registry.fair.description import Description


@description_view
def linkset(request: HttpRequest, description: Description, *, cache_control: str) -> HttpResponse:
    """The links as JSON, or as text where ``Accept`` prefers ``application/linkset``."""
    format_ = preferred(request, [LINKSET, LINKSET_TEXT])
    response = document(request, description, format_ or LINKSET, cache_control=cache_control)
    patch_vary_headers(response, ["Accept"])
    return response
