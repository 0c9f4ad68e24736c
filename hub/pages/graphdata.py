"""What ``hub/assets/graph`` fetches: compact topologies, and the details of its nodes."""

import gzip
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.http import require_safe

from hub.files import caching
from hub.pages.frame import repository_page
from registry.errors import NotFound
from registry.selectors.analysis.compacttopology import node_details
from registry.selectors.analysis.topology import network_get, topology_get, topology_parsed
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel

#: Version of the format of compact topologies, a part of their validator.
_FORMAT = 1


@repository_page
@require_safe
def data(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The compact topology of a network, and with ``node`` the details of one node, as JSON.

    Requires access to the files. Raises ``NotFound``: ``graph_not_found``, ``topology_not_found``.
    """
    require_fetch(request.user, mlmodel)
    revision = revision_get(mlmodel, request.GET.get("revision") or mlmodel.default_branch)
    topology = topology_get(network_get(revision, request.GET.get("path") or None))
    etag = f'"{topology.blob_id}-{_FORMAT}"'
    answer = get_conditional_response(request, etag=etag)
    if answer is None:
        parsed = topology_parsed(topology)
        if "node" in request.GET:
            answer = JsonResponse(_details(parsed.document, request.GET["node"]))
        else:
            answer = _gzipped(request, parsed.compact_gzipped)
    answer.headers["ETag"] = etag
    answer.headers["Cache-Control"] = caching(mlmodel, fixed=False)
    patch_vary_headers(answer, ["Accept-Encoding"])
    return answer


def _details(document: Mapping[str, Any], text: str) -> dict[str, Any]:
    count = len(document["nodes"]["name"])
    if not text.isdecimal() or len(text) > 9 or int(text) >= count:
        raise NotFound("topology_not_found", f"The network has no node {text[:20]!r}.")
    return node_details(document, int(text))


def _gzipped(request: HttpRequest, data: bytes) -> HttpResponse:
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(gzip.decompress(data), content_type="application/json")
    answer = HttpResponse(data, content_type="application/json")
    answer.headers["Content-Encoding"] = "gzip"
    return answer
