"""Resolution for ``hpcfair.load``: the best build for a machine."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.repository.file import FileSerializer
from hub.api.v1.results.attestation import ENVELOPE_EXAMPLE, EnvelopeSerializer
from hub.api.v1.results.build import BUILD_EXAMPLE, BuildSerializer, builds_data
from hub.api.v1.results.graph import TENSOR_EXAMPLE, TensorSerializer
from hub.api.views import ApiView, Strict, body_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.choice import LoadRequest
from registry.selectors.results.resolution import resolve
from registry.states import ToleranceClass


class MachineSerializer(serializers.Serializer[Any]):
    """The result of `hpcfair.machine.describe()`; other members are ignored."""

    architecture = serializers.CharField(max_length=32)
    features = serializers.ListField(child=serializers.CharField(max_length=64), max_length=1000)
    cores = serializers.IntegerField(required=False, min_value=1)


@example(
    {
        "revision": "main",
        "tolerance": "exact",
        "machine": {"architecture": "x86-64", "features": ["avx2", "avx512f"], "cores": 32},
        "runtimes": {"onnxruntime": "1.31.1"},
    }
)
class ResolveSerializer(Strict):
    revision = serializers.CharField(default=None, allow_null=True)
    tolerance = serializers.ChoiceField(ToleranceClass.choices, default=ToleranceClass.EXACT)
    machine = MachineSerializer()
    runtimes = serializers.DictField(
        child=serializers.CharField(max_length=100),
        help_text="Versions of installed runtimes, by name. Empty: resolve to the plain model.",
    )


@example({"inputs": [TENSOR_EXAMPLE], "outputs": [TENSOR_EXAMPLE]})
class SignatureSerializer(serializers.Serializer[Any]):
    inputs = TensorSerializer(many=True)
    outputs = TensorSerializer(many=True)


@example(
    {
        "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
        "build": BUILD_EXAMPLE,
        "reason": "On x86-64-avx512 it is the fastest within tolerance 'exact'.",
        "alternatives": [],
        "files": BUILD_EXAMPLE["files"],
        "entry_point": "model.onnx",
        "signature": {"inputs": [TENSOR_EXAMPLE], "outputs": [TENSOR_EXAMPLE]},
        "record_id": BUILD_EXAMPLE["record_id"],
        "attestation": ENVELOPE_EXAMPLE,
        "model_file": "model.onnx",
    }
)
class ResolutionSerializer(serializers.Serializer[Any]):
    revision = serializers.CharField(help_text="Commit id of the revision.")
    build = BuildSerializer(allow_null=True, help_text="Null for the plain model.")
    reason = serializers.CharField(help_text="Reason for the choice.")
    alternatives = BuildSerializer(many=True, help_text="Other matching builds, best first.")
    files = FileSerializer(many=True, help_text="Files of the build, or of the published network.")
    entry_point = serializers.CharField(help_text="File to open.")
    signature = SignatureSerializer()
    record_id = serializers.CharField(allow_null=True)
    attestation = EnvelopeSerializer(
        allow_null=True, help_text="Signed statement on the build; null if there is none."
    )
    model_file = serializers.CharField(help_text="Path of the published network in the revision.")


class ResolveView(ApiView):
    sign_in_for = frozenset()

    @extend_schema(
        operation_id="model_resolve", request=ResolveSerializer, responses=ResolutionSerializer
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Find the fastest build that matches a machine and a tolerance.

        The machine's best matching target is used, and of its builds those for an installed
        runtime within the tolerance. A build is preferred to the runtime's defaults only if it is
        measurably faster. If no build matches, the plain model is returned with the reason.
        """
        body = body_of(request, ResolveSerializer)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, body["revision"])
        revision.mlmodel = mlmodel
        answer = resolve(
            revision,
            LoadRequest(
                architecture=body["machine"]["architecture"],
                features=body["machine"]["features"],
                runtimes=body["runtimes"],
                tolerance=body["tolerance"],
            ),
        )
        chosen = answer.choice.build
        builds = builds_data([*([chosen] if chosen else []), *answer.choice.others])
        context = {
            "revision_of": (mlmodel.full_name, revision.oid),
            "build": chosen and chosen.uuid,
        }
        return Response(
            {
                "revision": revision.oid,
                "build": builds[0] if chosen else None,
                "reason": answer.choice.reason,
                "alternatives": builds[1:] if chosen else builds,
                "files": FileSerializer(answer.files, many=True, context=context).data,
                "entry_point": answer.entry_point,
                "signature": answer.graph.signature,
                "record_id": chosen.record_id if chosen else None,
                "attestation": chosen.envelope if chosen else None,
                "model_file": answer.graph.path,
            }
        )
