"""Builds: artefacts published for a target."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.repository.file import FILE_EXAMPLE, FileSerializer
from hub.api.v1.results.acceptance import MinAccuracyField, QueryToleranceField
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, query_of
from registry.scenarios import Scenario
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.best import BestBuilds, accepted_builds, best_builds
from registry.selectors.results.build import build_get, builds_of
from registry.selectors.results.reproduction import latest_of, reproduced
from registry.selectors.work.target import target_get
from registry.states import ToleranceClass, Verdict
from registry.tables import Build, Reproduction

RELATIVE_ERROR = (
    "Largest relative L2 error over the test inputs, which are the model's samples where it has "
    "any; a number as `tolerance` limits it."
)
BUILD_UUID = "c1d9a1de-7c1f-4a53-9c0c-3b1f5c8c9a10"
BUILD_EXAMPLE = {
    "uuid": BUILD_UUID,
    "target": "x86-64-avx512",
    "backend": "onnxruntime",
    "candidate": {"backend": "onnxruntime", "options": {"graph_optimization": "all"}},
    "runtime": "onnxruntime",
    "runtime_options": {"graph_optimization": "all", "threads": "all"},
    "entry_point": "model.onnx",
    "tolerance": "exact",
    "is_baseline": False,
    "is_best": True,
    "limit": 3.1e-8,
    "ratio": 0.79,
    "ratio_low": 0.77,
    "ratio_high": 0.81,
    "verdict": "faster",
    "p50_ns": 812_000,
    "scenario": "single-stream",
    "execution": None,
    "throughput_per_s": None,
    "deviation": {"max_absolute": 1.2e-7, "relative_l2": 3.1e-8},
    "relative_error": 3.1e-8,
    "accuracy": 0.98,
    "accuracy_reference": 0.98,
    "record_id": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
    "provenance": {"toolchain": {"onnxruntime": "1.31.1"}},
    "files": [{**FILE_EXAMPLE, "url": f"/api/v1/builds/{BUILD_UUID}/files/model.onnx"}],
    "withdrawn_at": None,
    "reproduced": True,
    "created_at": "2026-01-02T03:04:05Z",
}


@example({"batch": 16, "streams": "cores"})
class ExecutionSerializer(serializers.Serializer[Any]):
    """How a build processes many samples."""

    batch = serializers.IntegerField(min_value=1, help_text="Samples of one run.")
    streams = serializers.ChoiceField(
        ["one", "cores"],
        help_text="Runs at the same time: one, or one for each physical core of the process.",
    )


@example(BUILD_EXAMPLE)
class BuildSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    target = serializers.CharField(source="target.slug")
    backend = serializers.CharField(source="candidate.backend")
    candidate = serializers.DictField(help_text="Backend and options.")
    runtime = serializers.CharField(
        help_text="Runtime that opens it: a name in `hpcfair.runtimes`."
    )
    runtime_options = serializers.DictField()
    entry_point = serializers.CharField(help_text="File that the runtime opens.")
    tolerance = serializers.ChoiceField(
        ToleranceClass.choices, help_text="Bound of the deviation from float32."
    )
    is_baseline = serializers.BooleanField(help_text="Whether it is the runtime with its defaults.")
    is_best = serializers.SerializerMethodField(
        help_text="Whether machines of this target load it at this tolerance."
    )
    limit = serializers.SerializerMethodField(
        help_text="The number for `tolerance` with which machines of this target load it; null if "
        "another build is as close to the reference and faster. The builds with a limit are the "
        "Pareto front."
    )
    ratio = serializers.FloatField(
        help_text="Latency over the baseline's latency in the same run; below 1 is faster."
    )
    ratio_low = serializers.FloatField(source="record.ratio_low", allow_null=True)
    ratio_high = serializers.FloatField(source="record.ratio_high", allow_null=True)
    verdict = serializers.ChoiceField(Verdict.choices)
    p50_ns = serializers.IntegerField(
        help_text="Median duration of a run: of one sample, or of a query of several."
    )
    scenario = serializers.ChoiceField(
        Scenario.choices, help_text="What ratio, verdict and duration are of."
    )
    execution = serializers.SerializerMethodField(
        help_text="How many samples are processed; null for a single stream."
    )
    throughput_per_s = serializers.FloatField(
        allow_null=True, help_text="Samples per second; null for a single stream."
    )
    deviation = serializers.DictField(help_text="Deviation from the unoptimised float32 reference.")
    relative_error = serializers.FloatField(allow_null=True, help_text=RELATIVE_ERROR)
    accuracy = serializers.FloatField(allow_null=True)
    accuracy_reference = serializers.FloatField(allow_null=True)
    record_id = serializers.CharField()
    provenance = serializers.DictField()
    files = serializers.SerializerMethodField()
    reproduced = serializers.SerializerMethodField(
        help_text="Whether its last run on the test tensors gave the expected outputs; null before "
        "the first run."
    )
    withdrawn_at = serializers.DateTimeField(
        allow_null=True, help_text="Time at which a newer search replaced it."
    )
    created_at = serializers.DateTimeField()

    def get_is_best(self, build: Build) -> bool:
        best: BestBuilds = self.context["best"]
        return build.pk in best.of_class

    @extend_schema_field(ExecutionSerializer(allow_null=True))
    def get_execution(self, build: Build) -> dict[str, Any] | None:
        execution: dict[str, Any] | None = build.execution
        return execution

    def get_limit(self, build: Build) -> float | None:
        best: BestBuilds = self.context["best"]
        return best.limits.get(build.pk)

    def get_reproduced(self, build: Build) -> bool | None:
        latest: dict[int, Reproduction] = self.context["reproductions"]
        return reproduced(latest.get(build.pk))

    @extend_schema_field(FileSerializer(many=True))
    def get_files(self, build: Build) -> list[dict[str, Any]]:
        context = {"build": build.uuid}
        return list(FileSerializer(build.files.all(), many=True, context=context).data)


@example({"items": [BUILD_EXAMPLE]})
class BuildsSerializer(serializers.Serializer[Any]):
    items = BuildSerializer(many=True)


class BuildQuery(RevisionQuery):
    target = serializers.CharField(default=None, required=False, help_text="Name of a target.")
    tolerance = QueryToleranceField(
        default=None,
        required=False,
        help_text="Laxest tolerance class, or largest relative error as a number from 0 to 1.",
    )
    min_accuracy = MinAccuracyField(default=None, required=False)
    scenario = serializers.ChoiceField(
        Scenario.choices, default=Scenario.SINGLE_STREAM, required=False
    )


def builds_data(builds: Iterable[Build]) -> list[dict[str, Any]]:
    """Builds as JSON; one query each finds the best ones and the latest reproductions."""
    builds = list(builds)
    context = {
        "best": best_builds({build.graph_id for build in builds}),
        "reproductions": latest_of(builds),
    }
    return list(BuildSerializer(builds, many=True, context=context).data)


class BuildsView(ApiView):
    @extend_schema(operation_id="model_builds", parameters=[BuildQuery], responses=BuildsSerializer)
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the builds of a revision in a scenario within limits: by target, fastest first."""
        query = query_of(request, BuildQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        target = target_get(query["target"]) if query["target"] else None
        builds = list(builds_of(revision, target, query["scenario"]))
        tolerance, least = query["tolerance"], query["min_accuracy"]
        if tolerance is not None or least is not None:
            laxest = ToleranceClass.values[-1]
            builds = accepted_builds(builds, laxest if tolerance is None else tolerance, least)
        return Response({"items": builds_data(builds)})


class BuildView(ApiView):
    @extend_schema(operation_id="build_get", responses=BuildSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch a build, including one that a newer search replaced."""
        return Response(builds_data([build_get(request.user, str(uuid))])[0])
