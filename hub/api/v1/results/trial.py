"""Trials of searches."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.selectors.results.trial import trial_get
from registry.selectors.work.job import job_get, trials_of
from registry.states import ToleranceClass, TrialOutcome

TRIAL_EXAMPLE = {
    "uuid": "6fa0f2a1-0d0f-4b9e-a7de-5a2d4b0f1c22",
    "number": 4,
    "candidate": {"backend": "onnxruntime", "options": {"graph_optimization": "all"}},
    "proposed_by": "tpe",
    "predicted_ratio": 0.81,
    "outcome": "measured",
    "failure_detail": "",
    "tolerance": "exact",
    "ratio": 0.79,
    "ratio_low": 0.77,
    "ratio_high": 0.81,
    "p50_ns": 812_000,
    "deviation": {"max_absolute": 1.2e-7, "relative_l2": 3.1e-8},
    "accuracy": None,
    "compile_s": 0.4,
    "duration_s": 5.2,
    "created_at": "2026-01-02T03:04:05Z",
}


@example(TRIAL_EXAMPLE)
class TrialSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    number = serializers.IntegerField()
    candidate = serializers.DictField(help_text="Backend and options.")
    proposed_by = serializers.CharField()
    predicted_ratio = serializers.FloatField(allow_null=True)
    outcome = serializers.ChoiceField(TrialOutcome.choices)
    failure_detail = serializers.CharField(allow_blank=True)
    tolerance = serializers.ChoiceField(ToleranceClass.choices, allow_blank=True)
    ratio = serializers.FloatField(
        allow_null=True,
        help_text="Latency over the baseline's latency in the same run; below 1 is faster.",
    )
    ratio_low = serializers.FloatField(allow_null=True, help_text="95 % interval, lower end.")
    ratio_high = serializers.FloatField(allow_null=True, help_text="95 % interval, upper end.")
    p50_ns = serializers.IntegerField(allow_null=True)
    deviation = serializers.DictField(help_text="Deviation from the unoptimised float32 reference.")
    accuracy = serializers.FloatField(allow_null=True)
    compile_s = serializers.FloatField(allow_null=True)
    duration_s = serializers.FloatField()
    created_at = serializers.DateTimeField()


@example(
    {
        **TRIAL_EXAMPLE,
        "measurement": {"blocks": [{"candidate_ns": [811_000], "baseline_ns": [1_030_000]}]},
    }
)
class TrialDetailSerializer(TrialSerializer):
    measurement = serializers.DictField(help_text="Raw samples.")


class JobTrialsView(ApiView):
    @extend_schema(
        operation_id="job_trials", parameters=[PageQuery], responses=page_of(TrialSerializer)
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the trials of a job, in the order of execution."""
        query = query_of(request, PageQuery)
        rows = trials_of(job_get(request.user, str(uuid)))
        return paged(rows, TrialSerializer, query, name=f"trial.{uuid}", order=("number",))


class TrialView(ApiView):
    @extend_schema(operation_id="trial_get", responses=TrialDetailSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch a trial, with its raw samples."""
        return Response(TrialDetailSerializer(trial_get(request.user, str(uuid))).data)
