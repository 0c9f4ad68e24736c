"""Experiments with the schedules of an operator workload: ablations and cross-applications."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.work.job import JOB_EXAMPLE, JobSerializer, jobs_data
from hub.api.views import ApiView, Strict, body_of
from registry.selectors.analysis.ablation import ablations_of
from registry.selectors.analysis.crossapplication import cross_applications_of
from registry.selectors.analysis.workload import workload_get
from registry.services.analysis.ablation import ablation_submit
from registry.services.analysis.crossapplication import cross_submit
from registry.states import TrialOutcome, Verdict

_COMPARISON: dict[str, Any] = {
    "uuid": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11",
    "outcome": "measured",
    "failure_detail": "",
    "ratio": 1.8,
    "ratio_low": 1.7,
    "ratio_high": 1.9,
    "verdict": "slower",
    "seconds": [0.0018, 0.0018],
    "best_seconds": [0.001, 0.001],
    "created_at": "2026-01-02T03:04:05Z",
}
_ABLATION = _COMPARISON | {
    "trial": "5d1f6a10-58a6-4f07-a3a7-0f7f4d0f3c55",
    "position": 3,
    "decision": [1, 2, 1, 32],
    "alternative": [64, 1, 1, 1],
    "reason": "not tiled",
}
_APPLICATION = _COMPARISON | {"source_target": "x86-64-v3", "target": "x86-64-avx512"}


class ComparisonSerializer(serializers.Serializer[Any]):
    """A schedule beside the best one, timed in turns."""

    uuid = serializers.UUIDField()
    outcome = serializers.ChoiceField(TrialOutcome.choices)
    failure_detail = serializers.CharField(allow_blank=True)
    ratio = serializers.FloatField(
        allow_null=True, help_text="Time over that of the best schedule; null after a failure."
    )
    ratio_low = serializers.FloatField(allow_null=True)
    ratio_high = serializers.FloatField(allow_null=True)
    verdict = serializers.ChoiceField(Verdict.choices)
    seconds = serializers.ListField(child=serializers.FloatField(), help_text="Raw times.")
    best_seconds = serializers.ListField(
        child=serializers.FloatField(), help_text="Raw times of the best schedule, in pairs."
    )
    created_at = serializers.DateTimeField()


@example(_ABLATION)
class AblationSerializer(ComparisonSerializer):
    trial = serializers.UUIDField(source="trial.uuid", help_text="The best schedule.")
    position = serializers.IntegerField(
        help_text="Position of the decision in the schedule; -1 for the control."
    )
    decision = serializers.SerializerMethodField(help_text="The value of the best schedule.")
    alternative = serializers.JSONField(allow_null=True)
    reason = serializers.CharField(help_text="Origin of the replacement value.")

    def get_decision(self, row: Any) -> Any:
        return row.trial.decisions[row.position][1] if row.position >= 0 else None


@example({"items": [_ABLATION]})
class AblationsSerializer(serializers.Serializer[Any]):
    items = AblationSerializer(many=True)


@example(_APPLICATION)
class CrossApplicationSerializer(ComparisonSerializer):
    source_target = serializers.CharField(
        source="source.task.target.slug", help_text="Target whose best schedule was taken over."
    )
    target = serializers.CharField(
        source="task.target.slug", help_text="Target on which it was measured."
    )


@example({"items": [_APPLICATION]})
class CrossApplicationsSerializer(serializers.Serializer[Any]):
    items = CrossApplicationSerializer(many=True)


@example({"budget_s": 60})
class ExperimentSerializer(Strict):
    budget_s = serializers.FloatField(
        default=None, allow_null=True, help_text="Seconds; null for the hub's default."
    )


def _parameters(request: Request) -> dict[str, Any]:
    body = body_of(request, ExperimentSerializer)
    return {name: value for name, value in body.items() if value is not None}


@example({"items": [JOB_EXAMPLE]})
class ExperimentJobsSerializer(serializers.Serializer[Any]):
    items = JobSerializer(many=True)


class AblationsView(ApiView):
    @extend_schema(operation_id="workload_ablations", responses=AblationsSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch the newest ablation of a workload: its best schedule with one decision reverted
        each, after a control."""
        task = workload_get(request.user, str(uuid))
        return Response(AblationsSerializer({"items": ablations_of(request.user, task)}).data)

    @extend_schema(
        operation_id="workload_ablate",
        request=ExperimentSerializer,
        responses={202: ExperimentJobsSerializer},
    )
    def post(self, request: Request, uuid: UUID) -> Response:
        """Queue an ablation of a workload's best schedule, for those who may write to a model that
        uses it. An open one is returned instead."""
        actor = signed_in(request)
        task = workload_get(actor, str(uuid))
        job = ablation_submit(actor=actor, task=task, parameters=_parameters(request))
        return Response({"items": jobs_data([job])}, status=202)


class CrossApplicationsView(ApiView):
    @extend_schema(
        operation_id="workload_cross_applications", responses=CrossApplicationsSerializer
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch how fast the best schedules of each target are on the other targets."""
        task = workload_get(request.user, str(uuid))
        rows = cross_applications_of(request.user, task)
        return Response(CrossApplicationsSerializer({"items": rows}).data)

    @extend_schema(
        operation_id="workload_cross_apply",
        request=ExperimentSerializer,
        responses={202: ExperimentJobsSerializer},
    )
    def post(self, request: Request, uuid: UUID) -> Response:
        """Queue a measurement of the best schedules of other targets on this workload's target."""
        actor = signed_in(request)
        task = workload_get(actor, str(uuid))
        job = cross_submit(actor=actor, task=task, parameters=_parameters(request))
        return Response({"items": jobs_data([job])}, status=202)
