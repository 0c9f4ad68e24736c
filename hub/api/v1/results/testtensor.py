"""Test tensors: what goes into a network, and what must come out of it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, query_of
from registry.fair.addresses import RepositoryAddress
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.testtensor import test_path, test_sets
from registry.states import TensorSide
from registry.tables import Revision, TestTensor

_OID = "3f786850e387550fdab836ed7e6dc881de23001b"
TENSOR_EXAMPLE = {
    "side": "input",
    "index": 0,
    "name": "image",
    "path": "test_data_set_0/input_0.pb",
    "size_bytes": 49_170,
    "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "url": f"/lab/galaxy-cnn/tests/{_OID}/test_data_set_0/input_0.pb",
}
SET_EXAMPLE = {"number": 0, "is_made": True, "tensors": [TENSOR_EXAMPLE]}
TESTS_EXAMPLE = {"revision": _OID, "sets": [SET_EXAMPLE]}


@example(TENSOR_EXAMPLE)
class TestTensorSerializer(serializers.Serializer[Any]):
    """One serialised ONNX ``TensorProto``."""

    side = serializers.ChoiceField(TensorSide.choices)
    index = serializers.IntegerField(help_text="Its place among those of its side, from 0.")
    name = serializers.CharField(help_text="As the network calls it.")
    path = serializers.CharField(help_text="As ONNX's own tests name it.")
    size_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    url = serializers.CharField(help_text="Address of the bytes on this hub.")


@example(SET_EXAMPLE)
class TestSetSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    is_made = serializers.BooleanField(
        help_text="Made by the hub: drawn from a seed or the samples, with the outputs of the "
        "unoptimised float32 network. False: published with the revision."
    )
    tensors = TestTensorSerializer(many=True)


@example(TESTS_EXAMPLE)
class TestsSerializer(serializers.Serializer[Any]):
    revision = serializers.CharField(help_text="Its commit id.")
    sets = TestSetSerializer(many=True)


class TestsView(ApiView):
    @extend_schema(
        operation_id="model_tests", parameters=[RevisionQuery], responses=TestsSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the test tensors of a revision: inputs, and the outputs that belong to them.

        None before its inspection, and where none could be made; the log of its inspection says
        why.
        """
        query = query_of(request, RevisionQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        place = RepositoryAddress("", "model", mlmodel.full_name)
        sets = [
            {
                "number": number,
                "is_made": rows[0].is_made,
                "tensors": [_tensor(row, place, revision) for row in rows],
            }
            for number, rows in test_sets(revision).items()
        ]
        return Response(TestsSerializer({"revision": revision.oid, "sets": sets}).data)


def _tensor(row: TestTensor, place: RepositoryAddress, revision: Revision) -> dict[str, Any]:
    path = test_path(row)
    return {
        "side": row.side,
        "index": row.index,
        "name": row.name,
        "path": path,
        "size_bytes": row.blob.size_bytes,
        "sha256": row.blob_id,
        "url": place.test(revision.oid, path),
    }
