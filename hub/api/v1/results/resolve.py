"""Resolution for ``hpcfair.load``: the best build for a machine."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hpcfair.choice import LoadRequest
from hub.api.schema import example
from hub.api.v1.repository.file import FileSerializer
from hub.api.v1.results.acceptance import AcceptanceSerializer, ToleranceField
from hub.api.v1.results.attestation import ENVELOPE_EXAMPLE, EnvelopeSerializer
from hub.api.v1.results.build import (
    BUILD_EXAMPLE,
    RELATIVE_ERROR,
    BuildSerializer,
    builds_data,
)
from hub.api.v1.results.graph import TENSOR_EXAMPLE, TensorSerializer
from hub.api.views import ApiView, body_of
from registry.scenarios import Scenario
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.best import FasterBuild
from registry.selectors.results.resolution import companions_of, resolve
from registry.selectors.search.summary import Summary
from registry.services.people.usertarget import usertarget_note
from registry.states import ArchitectureClass, ToleranceClass

LIMITS_EXAMPLE = {"tolerance": "int8"}
LOOSER_EXAMPLE = {
    "limits": LIMITS_EXAMPLE,
    "tolerance": "int8",
    "backend": "openvino",
    "gain": 2.1,
    "latency_ns": 305_000,
    "deviation": {"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.014},
    "relative_error": 0.014,
    "accuracy": 0.986,
    "accuracy_reference": 0.986,
}


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
class ResolveSerializer(AcceptanceSerializer):
    revision = serializers.CharField(default=None, allow_null=True)
    scenario = serializers.ChoiceField(
        Scenario.choices,
        default=Scenario.SINGLE_STREAM,
        help_text="What the build is to be fast at. Without builds that were measured in it, the "
        "build for a single stream is chosen.",
    )
    machine = MachineSerializer()
    runtimes = serializers.DictField(
        child=serializers.CharField(max_length=100),
        help_text="Versions of installed runtimes, by name. Empty: resolve to the plain model.",
    )


class ModelFactsSerializer(serializers.Serializer[Any]):
    """What searches without the hub need to know of the model."""

    title = serializers.CharField(source="mlmodel.title", allow_blank=True)
    description = serializers.CharField(source="mlmodel.description", allow_blank=True)
    license = serializers.CharField(source="mlmodel.license", allow_blank=True)
    task = serializers.CharField(source="mlmodel.task", allow_blank=True)
    library = serializers.CharField(source="mlmodel.library", allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())
    parameters = serializers.IntegerField(allow_null=True)
    architecture_class = serializers.ChoiceField(
        ArchitectureClass.choices, source="graph.architecture_class"
    )


@example({"inputs": [TENSOR_EXAMPLE], "outputs": [TENSOR_EXAMPLE]})
class SignatureSerializer(serializers.Serializer[Any]):
    inputs = TensorSerializer(many=True)
    outputs = TensorSerializer(many=True)


@example(LIMITS_EXAMPLE)
class LaxerLimitsSerializer(serializers.Serializer[Any]):
    """A limit to state in place of that of the request: one of the members."""

    tolerance = ToleranceField(required=False)
    min_accuracy = serializers.FloatField(required=False)


@example(LOOSER_EXAMPLE)
class LooserSerializer(serializers.Serializer[Any]):
    """A build outside of the limits of the request, which is faster."""

    limits = LaxerLimitsSerializer()
    tolerance = serializers.ChoiceField(ToleranceClass.choices, help_text="Class of the build.")
    backend = serializers.CharField()
    gain = serializers.FloatField(
        help_text="Median latency of the runtime's defaults over that of the build."
    )
    latency_ns = serializers.IntegerField(help_text="Median latency of the build.")
    deviation = serializers.DictField(help_text="Deviation from the unoptimised float32 reference.")
    relative_error = serializers.FloatField(allow_null=True, help_text=RELATIVE_ERROR)
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
        "companions": [],
        "entry_point": "model.onnx",
        "signature": {"inputs": [TENSOR_EXAMPLE], "outputs": [TENSOR_EXAMPLE]},
        "record_id": BUILD_EXAMPLE["record_id"],
        "attestation": ENVELOPE_EXAMPLE,
        "model_file": "model.onnx",
        "model": {
            "title": "Galaxy CNN",
            "description": "Sorts galaxies by shape.",
            "license": "Apache-2.0",
            "task": "image-classification",
            "library": "onnx",
            "tags": ["astronomy"],
            "parameters": 1_204_554,
            "architecture_class": "residual-cnn",
        },
    }
)
class ResolutionSerializer(serializers.Serializer[Any]):
    revision = serializers.CharField(help_text="Commit id of the revision.")
    build = BuildSerializer(allow_null=True, help_text="Null for the plain model.")
    reason = serializers.CharField(help_text="Reason for the choice.")
    alternatives = BuildSerializer(many=True, help_text="Other matching builds, best first.")
    looser = LooserSerializer(
        many=True, help_text="Faster builds that laxer limits would bring, strictest first."
    )
    files = FileSerializer(many=True, help_text="Files of the build, or of the published network.")
    companions = FileSerializer(
        many=True,
        help_text="Files of the revision that prepare inputs, such as those of a tokeniser.",
    )
    entry_point = serializers.CharField(help_text="File to open.")
    signature = SignatureSerializer()
    record_id = serializers.CharField(allow_null=True)
    attestation = EnvelopeSerializer(
        allow_null=True, help_text="Signed statement on the build; null if there is none."
    )
    model_file = serializers.CharField(help_text="Path of the published network in the revision.")
    model = ModelFactsSerializer()


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
        returned with the reason. `min_accuracy` is refused with `accuracy_not_measured` if the
        model has no labelled samples.
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
                scenario=body["scenario"],
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
                "companions": FileSerializer(
                    companions_of(revision), many=True, context=context
                ).data,
                "entry_point": answer.entry_point,
                "signature": answer.graph.signature,
                "record_id": chosen.record_id if chosen else None,
                "attestation": chosen.envelope if chosen else None,
                "model_file": answer.graph.path,
                "model": ModelFactsSerializer(Summary(mlmodel, revision, answer.graph, {})).data,
            }
        )


def _looser(builds: Iterable[FasterBuild]) -> list[dict[str, Any]]:
    """Builds with the limits that bring them, as JSON."""
    return [
        {
            "limits": dict(each.limits),
            "tolerance": each.build.tolerance,
            "backend": each.build.candidate["backend"],
            "gain": 1 / each.build.ratio,
            "latency_ns": each.build.p50_ns,
            "deviation": each.build.deviation,
            "relative_error": each.build.relative_error,
            "accuracy": each.build.accuracy,
            "accuracy_reference": each.build.accuracy_reference,
        }
        for each in builds
    ]
