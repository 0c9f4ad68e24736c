"""Operator workloads and the trials of their schedules."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.selectors.analysis.workload import (
    ORDERS,
    is_time,
    order_of,
    schedule_trials_of,
    uses_of,
    workload_get,
    workloads_of,
)
from registry.states import TrialOutcome
from registry.traces import Sketch, TraceError, WorkloadNames

_WORKLOAD: dict[str, Any] = {
    "uuid": "5a157604-461a-4706-9230-47a5d2e37cb8",
    "key": "7f9c" * 16,
    "target": "x86-64-avx512",
    "toolchain": "apache-tvm 0.27.0.post1",
    "operator": "conv2d_nhwc",
    "function": "fused_conv2d_add_maximum1",
    "arguments": [{"dtype": "float32", "shape": [1, 28, 28, 32]}],
    "flops": 29_001_728.0,
    "created_at": "2026-01-02T03:04:05Z",
    "trials": 382,
    "best_s": 0.0001166,
    "confirmed_s": 0.0001201,
}
_TRIAL: dict[str, Any] = {
    "uuid": "5d1f6a10-58a6-4f07-a3a7-0f7f4d0f3c55",
    "sketch": "9ab1" * 16,
    "decisions": [[13, [1, 2, 1, 32]], [24, 2]],
    "words": {"tile of ff": "[1, 2, 1, 32]", "unroll limit": "64"},
    "proposed_by": "evolution",
    "predicted": 0.83,
    "outcome": "measured",
    "failure_detail": "",
    "median_s": 0.0001166,
    "seconds": [0.0001166, 0.0001161, 0.0001172],
    "confirmed_s": None,
    "duration_s": 0.29,
    "created_at": "2026-01-02T03:04:05Z",
}


@example(_WORKLOAD)
class WorkloadSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    key = serializers.CharField(help_text="Equal for equal workloads on all targets.")
    target = serializers.CharField(source="target.slug")
    toolchain = serializers.CharField()
    operator = serializers.CharField(source="anchor")
    function = serializers.CharField(source="name")
    arguments = serializers.ListField(child=serializers.DictField())
    flops = serializers.FloatField(help_text="Operations of one call.")
    created_at = serializers.DateTimeField()
    trials = serializers.SerializerMethodField(help_text="Number of trials, of all models.")
    best_s = serializers.FloatField(allow_null=True, help_text="Fastest median of a trial.")
    confirmed_s = serializers.FloatField(
        allow_null=True, help_text="Median of the newest confirmation, in turns with others."
    )

    def get_trials(self, row: Any) -> int:
        return int(row.trial_count or 0)


@example(_WORKLOAD | {"used_by": [{"model": "ada/squeezenet", "calls": 2}]})
class WorkloadDetailSerializer(WorkloadSerializer):
    used_by = serializers.SerializerMethodField(
        help_text="Models that you may read, with calls per run."
    )

    def get_used_by(self, row: Any) -> list[dict[str, Any]]:
        uses = uses_of(self.context["actor"], row)
        return [{"model": use.mlmodel.full_name, "calls": use.calls} for use in uses]


@example(_TRIAL)
class ScheduleTrialSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    sketch = serializers.CharField(source="sketch.digest")
    decisions = serializers.JSONField(help_text="As in the compiler's trace.")
    words = serializers.SerializerMethodField(
        help_text="Decisions in words; empty if they do not fit the sketch."
    )
    proposed_by = serializers.CharField()
    predicted = serializers.FloatField(
        allow_null=True, help_text="Score before the measurement; higher is faster."
    )
    outcome = serializers.ChoiceField(TrialOutcome.choices)
    failure_detail = serializers.CharField(allow_blank=True)
    median_s = serializers.SerializerMethodField(
        help_text="Null after a failure, and for values that are no times."
    )
    seconds = serializers.ListField(child=serializers.FloatField(), help_text="Raw times.")
    confirmed_s = serializers.FloatField(allow_null=True)
    duration_s = serializers.FloatField()
    created_at = serializers.DateTimeField()

    def get_words(self, row: Any) -> dict[str, str]:
        try:
            sketch = Sketch(row.sketch.instructions, WorkloadNames(row.task.blocks))
            return {each.title: each.text for each in sketch.decisions(row.decisions)}
        except TraceError:
            return {}

    def get_median_s(self, row: Any) -> float | None:
        return row.median_s if is_time(row.outcome, row.median_s) else None


class WorkloadsQuery(PageQuery):
    """Filters of the list of workloads."""

    target = serializers.CharField(required=False, default=None, max_length=64)
    q = serializers.CharField(
        required=False, default=None, max_length=200, help_text="Part of the operator's name."
    )
    sort = serializers.ChoiceField(list(ORDERS), required=False, default="newest")


class WorkloadsView(ApiView):
    @extend_schema(
        operation_id="workload_list",
        parameters=[WorkloadsQuery],
        responses=page_of(WorkloadSerializer),
    )
    def get(self, request: Request) -> Response:
        """List the operator workloads of models that you may read."""
        query = query_of(request, WorkloadsQuery)
        rows = workloads_of(request.user, target=query["target"] or "", query=query["q"] or "")
        order = order_of(query["sort"])
        return paged(rows, WorkloadSerializer, query, name="workload", order=order)


class WorkloadView(ApiView):
    @extend_schema(operation_id="workload_get", responses=WorkloadDetailSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch an operator workload."""
        task = workload_get(request.user, str(uuid))
        row = workloads_of(request.user).get(pk=task.pk)
        return Response(WorkloadDetailSerializer(row, context={"actor": request.user}).data)


class WorkloadTrialsView(ApiView):
    @extend_schema(
        operation_id="workload_trials",
        parameters=[PageQuery],
        responses=page_of(ScheduleTrialSerializer),
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the trials of a workload, in the order in which they ended."""
        query = query_of(request, PageQuery)
        rows = schedule_trials_of(workload_get(request.user, str(uuid)))
        return paged(rows, ScheduleTrialSerializer, query, name=f"schedule.{uuid}", order=("id",))
