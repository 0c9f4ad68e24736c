"""Profiles of builds."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.v1.results.build import BUILD_UUID
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.selectors.results.build import build_get
from registry.selectors.results.profile import call_sites, hottest, profile_of, summary

_HOTTEST = 10
NODE_EXAMPLE = {"index": 3, "grade": "exact"}
KERNEL_EXAMPLE = {
    "symbol": "fused_conv2d_add_relu",
    "workload": "b" * 64,
    "code": {"asm": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"},
}
SITE_EXAMPLE = {
    "sequence": 0,
    "name": "conv1_nchwc",
    "operator": "Conv",
    "median_ns": 52_000,
    "mad_ns": 900,
    "runs": 50,
    "precision": "float32",
    "layout": "NCHWc",
    "implementation": "CPUExecutionProvider",
    "nodes": [NODE_EXAMPLE],
    "kernel": KERNEL_EXAMPLE,
}
PROFILE_EXAMPLE = {
    "build": BUILD_UUID,
    "method": "onnxruntime 1.31.1 profiler",
    "total_ns": 812_000,
    "sum_ns": 800_000,
    "gap_ns": 12_000,
    "reconciled": True,
    "count": 1,
    "precisions": {"float32": 800_000},
    "coverage": {"nodes": 4, "exact": 3, "inferred": 1, "shared": 0, "folded": 0},
    "folded": [],
    "hottest": [SITE_EXAMPLE],
    "created_at": "2026-01-02T03:04:05Z",
}


@example(NODE_EXAMPLE)
class NodeLinkSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="Position of the node in the published ONNX graph.")
    grade = serializers.ChoiceField(
        ["exact", "inferred", "shared"],
        help_text="`exact`: reported by the runtime or proven; `inferred`: from neighbours; "
        "`shared`: computed for several nodes.",
    )


@example(KERNEL_EXAMPLE)
class KernelSerializer(serializers.Serializer[Any]):
    symbol = serializers.CharField()
    workload = serializers.CharField(
        help_text="Key of the operator workload, equal across models; empty if there is none."
    )
    code = serializers.SerializerMethodField(help_text="SHA-256 of the code, by kind of code.")

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_code(self, kernel: Any) -> dict[str, str]:
        return {code.kind: code.blob_id for code in kernel.code.all()}


@example(SITE_EXAMPLE)
class CallSiteSerializer(serializers.Serializer[Any]):
    sequence = serializers.IntegerField(help_text="Position in the order of execution, from 0.")
    name = serializers.CharField()
    operator = serializers.CharField(help_text="The runtime's name of the operator.")
    median_ns = serializers.IntegerField(
        help_text="Median time under the profiler, which adds overhead."
    )
    mad_ns = serializers.IntegerField(help_text="Median absolute deviation.")
    runs = serializers.IntegerField()
    precision = serializers.CharField(
        help_text="Executed precision; empty if the runtime does not report it."
    )
    layout = serializers.CharField()
    implementation = serializers.CharField()
    nodes = NodeLinkSerializer(many=True)
    kernel = KernelSerializer(allow_null=True)


class CoverageSerializer(serializers.Serializer[Any]):
    nodes = serializers.IntegerField(help_text="Number of nodes that are linked or folded.")
    exact = serializers.IntegerField()
    inferred = serializers.IntegerField()
    shared = serializers.IntegerField()
    folded = serializers.IntegerField(help_text="Nodes that were computed at build time.")


@example(PROFILE_EXAMPLE)
class ProfileSerializer(serializers.Serializer[Any]):
    build = serializers.UUIDField()
    method = serializers.CharField()
    total_ns = serializers.IntegerField(help_text="Median of a whole run under the profiler.")
    sum_ns = serializers.IntegerField(help_text="Sum of the medians of all call sites.")
    gap_ns = serializers.IntegerField(
        help_text="`total_ns` - `sum_ns`: overhead between call sites."
    )
    reconciled = serializers.BooleanField(
        help_text="Whether the gap is at most a tenth of `total_ns`."
    )
    count = serializers.IntegerField(help_text="Number of call sites.")
    precisions = serializers.DictField(
        child=serializers.IntegerField(), help_text="Nanoseconds by executed precision."
    )
    coverage = CoverageSerializer()
    folded = serializers.ListField(child=serializers.IntegerField())
    hottest = CallSiteSerializer(many=True)
    created_at = serializers.DateTimeField()


class BuildProfileView(ApiView):
    @extend_schema(operation_id="build_profile", responses=ProfileSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch the profile of a build: totals, and the call sites with most time."""
        build = build_get(request.user, str(uuid))
        profile = profile_of(build)
        shape = summary(profile) | {
            "build": build.uuid,
            "method": profile.method,
            "folded": profile.folded,
            "hottest": hottest(profile, _HOTTEST),
            "created_at": profile.created_at,
        }
        return Response(ProfileSerializer(shape).data)


class CallSitesView(ApiView):
    @extend_schema(
        operation_id="build_call_sites",
        parameters=[PageQuery],
        responses=page_of(CallSiteSerializer),
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the call sites of a build in the order of execution, with the nodes they compute."""
        query = query_of(request, PageQuery)
        rows = call_sites(profile_of(build_get(request.user, str(uuid))))
        order = ("sequence",)
        return paged(rows, CallSiteSerializer, query, name=f"call-site.{uuid}", order=order)
