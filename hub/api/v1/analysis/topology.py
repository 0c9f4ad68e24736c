"""Topologies: networks as graphs, with coordinates."""

import gzip
import json
from pathlib import Path

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, plain_request, query_of
from hub.files import caching
from hub.headers import shared_if_public
from registry import schemas
from registry.selectors.analysis.topology import network_get, topology_bytes, topology_get
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get

EXAMPLE = json.loads((Path(schemas.__file__).parent / "examples/topology.json").read_bytes())
RESPONSE = OpenApiResponse(
    {
        "type": "object",
        "description": "A document of schema hpcfair.topology/1; see "
        "/api/v1/schemas/hpcfair.topology-1.json.",
    },
    examples=[OpenApiExample("Topology", EXAMPLE, media_type="application/json")],
)


class TopologyQuery(RevisionQuery):
    path = serializers.CharField(
        default=None,
        required=False,
        max_length=1024,
        help_text="File of the network; default: the primary one.",
    )


class TopologyView(ApiView):
    @extend_schema(
        operation_id="model_topology",
        parameters=[TopologyQuery],
        responses={200: RESPONSE, 304: OpenApiResponse(description="The ETag matches.")},
    )
    def get(self, request: Request, namespace: str, name: str) -> HttpResponseBase:
        """Fetch a network as a graph: nodes, tensors, statistics of weights, coordinates, groups.

        Sent as stored, gzipped, to clients that accept it. Requires access to the files.
        """
        query = query_of(request, TopologyQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        require_fetch(request.user, mlmodel)
        revision = revision_get(mlmodel, query["revision"])
        topology = topology_get(network_get(revision, query["path"]))
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        etag = f'"{topology.blob_id}{"" if zipped else "-plain"}"'
        plain = plain_request(request)
        answer = get_conditional_response(plain, etag=etag)
        if answer is None:
            data = topology_bytes(topology)
            answer = HttpResponse(
                data if zipped else gzip.decompress(data), content_type="application/json"
            )
            if zipped:
                answer.headers["Content-Encoding"] = "gzip"
        answer.headers["ETag"] = etag
        answer.headers["Cache-Control"] = caching(mlmodel, fixed=False)
        patch_vary_headers(answer, ["Accept-Encoding"])
        return shared_if_public(answer)


class TopologySchemaView(ApiView):
    @extend_schema(
        operation_id="topology_schema",
        responses={
            200: OpenApiResponse(
                {"type": "object"},
                examples=[OpenApiExample("Schema", {"title": "hpcfair.topology/1"})],
            )
        },
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Fetch the JSON Schema of topologies."""
        return Response(schemas.topology_schema())
