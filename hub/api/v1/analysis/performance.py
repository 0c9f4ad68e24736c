"""Performance of a model: where the time of a build goes, and why."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.results.build import BUILD_UUID
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, query_of
from registry.errors import NotFound
from registry.kernels.reason import Reason
from registry.selectors.access import Actor
from registry.selectors.analysis.groupevidence import evidence_of
from registry.selectors.analysis.networkwork import work_of
from registry.selectors.analysis.performance import Group, Performance, performance_of
from registry.selectors.analysis.profiledbuild import chosen_build, profiled_builds
from registry.selectors.repository.gate import may_fetch
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.build import build_get
from registry.selectors.results.graph import graph_of
from registry.selectors.results.profile import profile_of
from registry.tables import Build

_GROUPS = 20
_MOST_GROUPS = 1000
GROUP_EXAMPLE = {
    "sequence": 3,
    "name": "fused_conv2d_add_relu#1",
    "label": "Conv + Relu",
    "operator": "fused_conv2d_add_relu",
    "median_ns": 52_000,
    "mad_ns": 900,
    "runs": 21,
    "share": 0.184,
    "is_plausible": True,
    "flops_per_s": 8.1e10,
    "precision": "float32",
    "implementation": "tuned",
    "workload": "b" * 64,
    "nodes": [4, 5],
    "grade": "exact",
    "marks": ["tuned"],
}
PERFORMANCE_EXAMPLE = {
    "build": BUILD_UUID,
    "target": "x86-64-avx512",
    "backend": "tvm",
    "tolerance": "exact",
    "method": "VirtualMachine.set_instrument of TVM 0.27.0, each call",
    "total_ns": 300_000,
    "sum_ns": 282_000,
    "gap_ns": 18_000,
    "is_reconciled": True,
    "unattributed_ns": 0,
    "tuned_share": 0.7,
    "conversion_share": 0.02,
    "model_precision": "float32",
    "precisions": {"float32": 282_000},
    "count": 1,
    "groups": [GROUP_EXAMPLE],
}
REASON_EXAMPLE = {
    "code": "untuned",
    "state": "applies",
    "title": "Not tuned",
    "text": "It runs with the compiler's default; no schedule was confirmed for its workload.",
    "saving": None,
}


class PerformanceQuery(RevisionQuery):
    target = serializers.CharField(default=None, required=False, max_length=64)
    build = serializers.UUIDField(
        default=None, required=False, help_text="Default: the best profiled build."
    )
    limit = serializers.IntegerField(
        default=_GROUPS,
        required=False,
        min_value=1,
        max_value=_MOST_GROUPS,
        help_text="Number of groups to return, slowest first.",
    )


@example(GROUP_EXAMPLE)
class GroupSerializer(serializers.Serializer[Any]):
    sequence = serializers.IntegerField(help_text="Position in the order of execution, from 0.")
    name = serializers.CharField()
    label = serializers.CharField(help_text="Operators of its nodes.")  # type: ignore[assignment]
    operator = serializers.CharField(help_text="The runtime's name of the operator.")
    median_ns = serializers.IntegerField()
    mad_ns = serializers.IntegerField(help_text="Median absolute deviation.")
    runs = serializers.IntegerField()
    share = serializers.FloatField(help_text="Share of a run; 0 for implausible times.")
    is_plausible = serializers.BooleanField(
        help_text="Whether the time can be that of a part of the run."
    )
    flops_per_s = serializers.FloatField(
        allow_null=True, help_text="Operations per second; null if the work is not known."
    )
    precision = serializers.CharField()
    implementation = serializers.CharField()
    workload = serializers.CharField(help_text="Key of the operator workload; empty if none.")
    nodes = serializers.ListField(
        child=serializers.IntegerField(), help_text="Positions in the published ONNX graph."
    )
    grade = serializers.CharField(help_text="The weakest grade of its links; empty without nodes.")
    marks = serializers.ListField(child=serializers.CharField())


@example(PERFORMANCE_EXAMPLE)
class PerformanceSerializer(serializers.Serializer[Any]):
    build = serializers.UUIDField()
    target = serializers.CharField()
    backend = serializers.CharField()
    tolerance = serializers.CharField()
    method = serializers.CharField()
    total_ns = serializers.IntegerField(help_text="Median of a whole run under the profiler.")
    sum_ns = serializers.IntegerField(help_text="Sum of the plausible medians of all calls.")
    gap_ns = serializers.IntegerField(help_text="`total_ns` - `sum_ns`.")
    is_reconciled = serializers.BooleanField(
        help_text="Whether the gap is at most a tenth of `total_ns`."
    )
    unattributed_ns = serializers.IntegerField(help_text="Time of calls without a link.")
    tuned_share = serializers.FloatField(help_text="Share of calls' time in tuned kernels.")
    conversion_share = serializers.FloatField(
        help_text="Share of the calls' time in calls that only convert layouts or types."
    )
    model_precision = serializers.CharField()
    precisions = serializers.DictField(
        child=serializers.IntegerField(), help_text="Nanoseconds by executed precision."
    )
    count = serializers.IntegerField(help_text="Number of groups.")
    groups = GroupSerializer(many=True)


@example(REASON_EXAMPLE)
class ReasonSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    state = serializers.ChoiceField(["applies", "not", "unknown"])
    title = serializers.CharField()
    text = serializers.CharField(help_text="The result, with its numbers.")
    saving = serializers.FloatField(
        allow_null=True, help_text="Share of a run that would be saved at most; null if unknown."
    )


@example({"group": GROUP_EXAMPLE, "reasons": [REASON_EXAMPLE]})
class GroupReasonsSerializer(serializers.Serializer[Any]):
    group = GroupSerializer()
    reasons = ReasonSerializer(many=True)


class PerformanceView(ApiView):
    @extend_schema(
        operation_id="model_performance",
        parameters=[PerformanceQuery],
        responses=PerformanceSerializer,
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Fetch where the time of a build goes: totals, and the slowest groups."""
        query = query_of(request, PerformanceQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        graph = graph_of(revision_get(mlmodel, query["revision"]))
        builds = profiled_builds(graph) if graph is not None else []
        uuid = str(query["build"] or "")
        build = chosen_build(request.user, mlmodel, builds, uuid=uuid, target=query["target"] or "")
        if build is None:
            detail = f"{mlmodel.full_name} has no build with a profile."
            raise NotFound("profile_not_found", detail, "The best builds of a search have one.")
        performance = _read(request.user, build)
        groups = performance.hottest(query["limit"])
        return Response(
            PerformanceSerializer(
                {
                    "build": build.uuid,
                    "target": build.target.slug,
                    "backend": build.candidate["backend"],
                    "tolerance": build.tolerance,
                    "method": performance.profile.method,
                    "total_ns": performance.profile.total_ns,
                    "count": len(performance.groups),
                    "groups": [_shape(performance, one) for one in groups],
                    **{
                        name: getattr(performance, name)
                        for name in (
                            "sum_ns", "gap_ns", "is_reconciled", "unattributed_ns", "tuned_share",
                            "conversion_share", "model_precision", "precisions",
                        )
                    },
                }
            ).data
        )  # fmt: skip


class BuildGroupView(ApiView):
    @extend_schema(operation_id="build_group", responses=GroupReasonsSerializer)
    def get(self, request: Request, uuid: UUID, sequence: int) -> Response:
        """Fetch one group of a build, and the reasons for its time."""
        build = build_get(request.user, str(uuid))
        performance = _read(request.user, build)
        group = performance.group(sequence)
        if group is None:
            raise NotFound("group_not_found", f"Build {build.uuid} has no call {sequence}.")
        reasons: list[Reason] = evidence_of(request.user, performance, group).reasons
        return Response(
            GroupReasonsSerializer({"group": _shape(performance, group), "reasons": reasons}).data
        )


def _read(actor: Actor, build: Build) -> Performance:
    """The groups of a build, with the network's nodes for those who may fetch its files."""
    network = work_of(build.graph) if may_fetch(actor, build.graph.revision.mlmodel) else None
    return performance_of(build, profile_of(build), network)


def _shape(performance: Performance, group: Group) -> dict[str, Any]:
    site = group.site
    columns = ("sequence", "name", "operator", "median_ns", "mad_ns", "runs", "precision",
               "implementation")  # fmt: skip
    return {name: getattr(site, name) for name in columns} | {
        "label": performance.label(group),
        "share": group.share,
        "is_plausible": group.is_plausible,
        "flops_per_s": group.rate,
        "workload": group.workload,
        "nodes": list(group.nodes),
        "grade": group.grade,
        "marks": list(group.marks),
    }
