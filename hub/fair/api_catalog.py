"""``/.well-known/api-catalog`` (RFC 9727): the APIs of the hub."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hub.fair.public import public
from registry.fair.addresses import dump_url
from registry.fair.api_catalog import PROFILE, Api, render
from registry.fair.parts import Hub
from registry.fair.signposting import LINKSET_TYPE, api_catalog_url, header, typed
from registry.selectors.fair.hub import this_hub


@require_safe
def api_catalog(request: HttpRequest) -> HttpResponse:
    """Each API with its description and documentation."""
    hub = this_hub()
    response = public(request, render(hub, _apis(hub)), f'{LINKSET_TYPE}; profile="{PROFILE}"')
    itself = typed("", "api-catalog", api_catalog_url(hub), LINKSET_TYPE)
    response.headers["Link"] = header([itself])
    return response


def _apis(hub: Hub) -> list[Api]:
    return [
        Api(
            url=f"{hub.url}/api/v1",
            description=(f"{hub.url}/api/v1/openapi.json", "application/json"),
            documentation=f"{hub.url}/api/docs",
            status=f"{hub.url}/readyz",
        ),
        Api(url=f"{hub.url}/api/models", documentation="https://huggingface.co/docs/hub/api"),
        Api(
            url=f"{hub.url}/oai",
            description=(f"{hub.url}/oai?verb=Identify", "text/xml"),
            documentation="http://www.openarchives.org/OAI/openarchivesprotocol.html",
        ),
        Api(
            url=f"{hub.url}/catalog",
            description=(f"{hub.url}/catalog", "text/turtle"),
            documentation="https://www.w3.org/TR/vocab-dcat-3/",
        ),
        Api(url=dump_url(hub.url), documentation="https://jsonlines.org/"),
        Api(
            url=f"{hub.url}/feeds/changes",
            documentation="https://www.rfc-editor.org/rfc/rfc4287",
        ),
        Api(url=f"{hub.url}/sitemap.xml", documentation="https://www.sitemaps.org/protocol.html"),
    ]
