"""Graphs: facts about networks, as inspected by the hub."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.views import ApiView, Strict, query_of
from registry.errors import NotFound
from registry.search import signature as signatures
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.states import ArchitectureClass
from registry.tables import Graph

TENSOR_EXAMPLE = {"name": "image", "dtype": "float32", "shape": ["N", 3, 64, 64]}
GRAPH_EXAMPLE = {
    "path": "model.onnx",
    "graph_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "architecture_class": "residual-cnn",
    "parameters": 1_204_554,
    "macs": 41_300_992,
    "signature": "float32[N,3,64,64] -> float32[N,10]",
    "inputs": [TENSOR_EXAMPLE],
    "outputs": [{"name": "scores", "dtype": "float32", "shape": ["N", 10]}],
    "operators": {"Conv": 17, "Relu": 17},
    "facts": {"opsets": {"ai.onnx": 17}, "ir_version": 8, "producer": "pytorch 2.4"},
}


@example(TENSOR_EXAMPLE)
class TensorSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    dtype = serializers.CharField()
    shape = serializers.ListField(
        child=serializers.JSONField(), help_text="Integers, or names of dynamic dimensions."
    )


@example(GRAPH_EXAMPLE)
class GraphSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="The inspected file.")
    graph_hash = serializers.CharField(help_text="Equal for equal computations.")
    architecture_class = serializers.ChoiceField(ArchitectureClass.choices)
    parameters = serializers.IntegerField()
    macs = serializers.IntegerField(
        allow_null=True,
        help_text="Multiply-accumulate operations of one run; null for dynamic shapes.",
    )
    signature = serializers.SerializerMethodField()
    inputs = TensorSerializer(many=True, source="signature.inputs")
    outputs = TensorSerializer(many=True, source="signature.outputs")
    operators = serializers.DictField(child=serializers.IntegerField())
    facts = serializers.DictField()

    def get_signature(self, graph: Graph) -> str:
        return str(signatures.of_facts(graph.signature))


class RevisionQuery(Strict):
    revision = serializers.CharField(
        default=None,
        required=False,
        help_text="Branch, tag or commit id; default: the default branch.",
    )


class GraphView(ApiView):
    @extend_schema(
        operation_id="model_graph", parameters=[RevisionQuery], responses=GraphSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Fetch the graph of the revision's primary network."""
        query = query_of(request, RevisionQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        graph = graph_of(revision_get(mlmodel, query["revision"]))
        if graph is None:
            raise NotFound(
                "graph_not_found",
                f"This revision of {mlmodel.full_name} has no inspected network.",
                "See its inspection: it may be running, or have found no network.",
            )
        return Response(GraphSerializer(graph).data)
