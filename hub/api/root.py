"""The root of the API."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.views import ApiView
from registry.fair.signposting import LINKSET_TYPE, api_catalog_url, header, typed
from registry.selectors.fair.hub import this_hub


class RootView(ApiView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Fetch the addresses of the API's descriptions, also as typed links (RFC 8631)."""
        hub = this_hub()
        links = [
            typed("", "service-desc", f"{hub.url}/api/v1/openapi.json", "application/json"),
            typed("", "service-doc", f"{hub.url}/api/docs", "text/html"),
            typed("", "status", f"{hub.url}/readyz"),
            typed("", "api-catalog", api_catalog_url(hub), LINKSET_TYPE),
        ]
        response = Response({link.rel: link.target for link in links})
        response.headers["Link"] = header(links)
        return response
