"""Resolution for ``hpcfair.load``: the best build for a machine."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hpcfair.choice import LoadRequest
from hub.api.schema import example
from hub.api.v1.repository.file import FileSerializer
from hub.api.v1.results.attestation import ENVELOPE_EXAMPLE, EnvelopeSerializer
from hub.api.v1.results.build import BUILD_EXAMPLE, BuildSerializer, builds_data
from hub.api.v1.results.graph import TENSOR_EXAMPLE, TensorSerializer
from hub.api.views import ApiView, Strict, body_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.resolution import resolve
from registry.services.people.usertarget import usertarget_note
from registry.states import ToleranceClass
from registry.tables import Build

LOOSER_EXAMPLE = {
    "tolerance": "int8",
    "gain": 2.1,
    "latency_ns": 305_000,
    "deviation": {"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.014},
    "accuracy": 0.986,
    "accuracy_reference": 0.986,
}


class MachineSerializer(serializers.Serializer[Any]):
    """The result of `hpcfair.machine.describe()`; other members are ignored."""

    architecture = serializers.CharField(max_length=32)
    features = serializers.ListField(child=serializers.CharField(max_length=64), max_length=1000)
    cores = serializers.IntegerField(required=False, min_value=1)


@extend_schema_field(
    {
        "oneOf": [
            {"$ref": "#/components/schemas/ToleranceEnum"},
            {"type": "number", "minimum": 0, "maximum": 1},
        ]
    }
)
class ToleranceField(serializers.Field[Any, Any, Any, Any]):
    """A tolerance class, or the largest relative L2 error as a number from 0 to 1."""

    def to_internal_value(self, data: Any) -> str | float:
        if data in ToleranceClass.values:
            return str(data)
        # A truth value is an integer in Python.
        if isinstance(data, int | float) and not isinstance(data, bool) and 0 <= data <= 1:
            return float(data)
        classes = ", ".join(ToleranceClass.values)
        raise serializers.ValidationError(f"Give one of {classes}, or a number from 0 to 1.")


class AcceptanceSerializer(Strict):
    """Limits of the outputs of a build."""

    tolerance = ToleranceField(
        required=False,
        help_text="Laxest tolerance class, or largest relative L2 error. Without it `exact`, or "
        "with `min_accuracy` any class.",
    )
    min_accuracy = serializers.FloatField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=1,
        help_text="Least accuracy of a build on the model's labelled samples.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Set the default of ``tolerance``, which depends on ``min_accuracy``."""
        least = attrs["min_accuracy"]
        # NaN passes the comparisons of the field with its limits.
        if least is not None and isnan(least):
            raise serializers.ValidationError({"min_accuracy": ["Give a number from 0 to 1."]})
        return {"tolerance": ToleranceClass.values[0 if least is None else -1], **attrs}


@example(
    {
        "revision": "main",
        "tolerance": "exact",
        "machine": {"architecture": "x86-64", "features": ["avx2", "avx512f"], "cores": 32},
        "runtimes": {"onnxruntime": "1.31.1"},
    }
)
class ResolveSerializer(AcceptanceSerializer):
    revision = serializers.CharField(default=None, allow_null=True)
    machine = MachineSerializer()
    runtimes = serializers.DictField(
        child=serializers.CharField(max_length=100),
        help_text="Versions of installed runtimes, by name. Empty: resolve to the plain model.",
    )


@example({"inputs": [TENSOR_EXAMPLE], "outputs": [TENSOR_EXAMPLE]})
class SignatureSerializer(serializers.Serializer[Any]):
    inputs = TensorSerializer(many=True)
    outputs = TensorSerializer(many=True)


@example(LOOSER_EXAMPLE)
class LooserSerializer(serializers.Serializer[Any]):
    """A build of a laxer tolerance class than requested, which is faster."""

    tolerance = serializers.ChoiceField(
        ToleranceClass.choices, help_text="The strictest class that brings it."
    )
    gain = serializers.FloatField(
        help_text="Median latency of the runtime's defaults over that of the build."
    )
    latency_ns = serializers.IntegerField(help_text="Median latency of the build.")
    deviation = serializers.DictField(help_text="Deviation from the unoptimised float32 reference.")
    accuracy = serializers.FloatField(allow_null=True)
    accuracy_reference = serializers.FloatField(allow_null=True)


@example(
    {
        "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
        "build": BUILD_EXAMPLE,
        "reason": "On x86-64-avx512 it is the fastest within tolerance 'exact'.",
        "alternatives": [],
        "looser": [LOOSER_EXAMPLE],
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
    looser = LooserSerializer(
        many=True, help_text="Faster builds that laxer tolerance classes would bring, by class."
    )
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
        runtime within the tolerance and of the least accuracy. A build is preferred to the
        runtime's defaults only if it is measurably faster. If no build matches, the plain model is
        returned with the reason.
        """
        body = body_of(request, ResolveSerializer)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, body["revision"])
        revision.mlmodel = mlmodel
        machine = body["machine"]
        usertarget_note(
            actor=request.user, architecture=machine["architecture"], features=machine["features"]
        )
        answer = resolve(
            revision,
            LoadRequest(
                architecture=body["machine"]["architecture"],
                features=body["machine"]["features"],
                runtimes=body["runtimes"],
                tolerance=body["tolerance"],
                min_accuracy=body["min_accuracy"],
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
                "looser": _looser(answer.choice.looser),
                "files": FileSerializer(answer.files, many=True, context=context).data,
                "entry_point": answer.entry_point,
                "signature": answer.graph.signature,
                "record_id": chosen.record_id if chosen else None,
                "attestation": chosen.envelope if chosen else None,
                "model_file": answer.graph.path,
            }
        )


def _looser(builds: Mapping[str, Build]) -> list[dict[str, Any]]:
    """Builds by tolerance class, as JSON."""
    return [
        {
            "tolerance": tolerance,
            "gain": 1 / build.ratio,
            "latency_ns": build.p50_ns,
            "deviation": build.deviation,
            "accuracy": build.accuracy,
            "accuracy_reference": build.accuracy_reference,
        }
        for tolerance, build in builds.items()
    ]
