"""Jobs: queue, progress, results."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.pagination import keyset_page
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.job import events_of, job_get, jobs_of
from registry.selectors.work.queue import Wait, waits_of
from registry.services.work.device import device_check
from registry.services.work.job import job_cancel
from registry.services.work.plan import plan
from registry.states import FailureClass, JobKind, JobState
from registry.tables import Job


@example({"class": "invalid", "code": "onnx_truncated", "detail": "The file ends early."})
class FailureSerializer(serializers.Serializer[Any]):
    """Failure of a job. Jobs of class `infrastructure` were retried, all others were not."""

    code = serializers.CharField(source="failure_code")
    detail = serializers.CharField(source="failure_detail", allow_blank=True)

    def get_fields(self) -> dict[str, Any]:
        # "class" is a keyword of Python and cannot be an attribute.
        kind = serializers.ChoiceField(FailureClass.choices, source="failure_class")
        return {"class": kind, **super().get_fields()}


JOB_EXAMPLE = {
    "uuid": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11",
    "kind": "tune",
    "model": "lab/galaxy-cnn",
    "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
    "target": "x86-64-avx512",
    "state": "leased",
    "priority": 100,
    "attempt": 1,
    "device": "bench-1",
    "parameters": {"budget_s": 120},
    "progress": {
        "phase": "search",
        "done": 7,
        "total": 32,
        "message": "onnxruntime threads=all",
        "used_s": 41.5,
        "budget_s": 120.0,
        "at": "2026-01-02T03:04:49Z",
    },
    "result": {},
    "failure": None,
    "cancel_requested": False,
    "created_at": "2026-01-02T03:04:05Z",
    "started_at": "2026-01-02T03:04:07Z",
    "ended_at": None,
    "queue_position": None,
    "wait_reason": None,
}


@example(JOB_EXAMPLE)
class JobSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    kind = serializers.ChoiceField(JobKind.choices)
    model = serializers.CharField(source="revision.mlmodel.full_name")
    revision = serializers.CharField(source="revision.oid")
    target = serializers.CharField(source="target.slug", default=None, allow_null=True)
    state = serializers.ChoiceField(JobState.choices)
    priority = serializers.IntegerField(
        help_text="Lower values run first, among the jobs of one account."
    )
    attempt = serializers.IntegerField()
    device = serializers.CharField(source="device.name", default=None, allow_null=True)
    parameters = serializers.DictField()
    progress = serializers.DictField(
        help_text="`phase`, `done`, `total`, `message`; `used_s`, the seconds that the phase had "
        "used of its `budget_s` at the time `at`; or empty."
    )
    result = serializers.DictField()
    failure = serializers.SerializerMethodField()
    cancel_requested = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    queue_position = serializers.SerializerMethodField(
        help_text="1 for the next job of a free worker; null once it is claimed."
    )
    wait_reason = serializers.SerializerMethodField(
        help_text="Why a queued job waits, and when it is expected to start, for people."
    )

    @extend_schema_field(FailureSerializer(allow_null=True))
    def get_failure(self, job: Job) -> dict[str, Any] | None:
        return dict(FailureSerializer(job).data) if job.failure_class else None

    def get_queue_position(self, job: Job) -> int | None:
        wait = self._wait(job)
        return wait.position if wait else None

    def get_wait_reason(self, job: Job) -> str | None:
        wait = self._wait(job)
        return wait.reason if wait else None

    def _wait(self, job: Job) -> Wait | None:
        waits: dict[int, Wait] = self.context["waits"]
        return waits.get(job.pk)


@example({"items": [JOB_EXAMPLE]})
class JobsSerializer(serializers.Serializer[Any]):
    items = JobSerializer(many=True)


@example({"id": 17, "at": "2026-01-02T03:04:07Z", "message": "Attempt 1 begins on bench-1."})
class JobEventSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="Increases with time.")
    at = serializers.DateTimeField()
    message = serializers.CharField()


class JobQuery(PageQuery):
    state = serializers.ChoiceField(JobState.choices, default=None, required=False)
    kind = serializers.ChoiceField(JobKind.choices, default=None, required=False)
    model = serializers.CharField(default=None, required=False, help_text="`namespace/name`.")
    target = serializers.CharField(default=None, required=False)


@example({"targets": ["x86-64-avx512"], "budget_s": 120})
class TuneSerializer(Strict):
    targets = serializers.ListField(
        child=serializers.CharField(max_length=64),
        max_length=100,
        default=None,
        allow_null=True,
        help_text="Null for all enabled targets with a device online.",
    )
    budget_s = serializers.FloatField(
        default=None, allow_null=True, help_text="Seconds of search; null for the hub's default."
    )
    revision = serializers.CharField(default=None, allow_null=True)
    strategy = serializers.CharField(max_length=32, default=None, allow_null=True)


def jobs_data(jobs: list[Job]) -> list[dict[str, Any]]:
    """Jobs as JSON, with their positions in the queue."""
    context = {"waits": waits_of(jobs)}
    return list(JobSerializer(jobs, many=True, context=context).data)


class JobsView(ApiView):
    @extend_schema(operation_id="job_list", parameters=[JobQuery], responses=page_of(JobSerializer))
    def get(self, request: Request) -> Response:
        """List jobs of the models you may read, newest first."""
        query = query_of(request, JobQuery)
        rows = jobs_of(
            request.user,
            state=query["state"],
            kind=query["kind"],
            mlmodel=query["model"],
            target=query["target"],
        )
        page = keyset_page(rows, name="job", cursor=query["cursor"], limit=query["limit"])
        return Response({"items": jobs_data(page.items), "next": page.next})


class JobView(ApiView):
    @extend_schema(operation_id="job_get", responses=JobSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch a job."""
        job = job_get(request.user, str(uuid))
        if job.state == JobState.QUEUED:
            # Its wait reason says whether a device is online.
            device_check()
        return Response(jobs_data([job])[0])


class JobCancelView(ApiView):
    @extend_schema(operation_id="job_cancel", request=None, responses=JobSerializer)
    def post(self, request: Request, uuid: UUID) -> Response:
        """Cancel a job: at once while it is queued, otherwise at its worker's next report."""
        actor = signed_in(request)
        job = job_cancel(actor=actor, job=job_get(actor, str(uuid)))
        return Response(jobs_data([job])[0])


class JobEventsView(ApiView):
    @extend_schema(
        operation_id="job_events", parameters=[PageQuery], responses=page_of(JobEventSerializer)
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the log of a job, oldest line first."""
        query = query_of(request, PageQuery)
        rows = events_of(job_get(request.user, str(uuid)))
        return paged(rows, JobEventSerializer, query, name=f"event.{uuid}", order=("id",))


class TuneView(ApiView):
    @extend_schema(
        operation_id="model_tune", request=TuneSerializer, responses={202: JobsSerializer}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Queue a tune job for each target.

        If a tune job of the same revision and target is open, it is returned instead.
        """
        actor, body = signed_in(request), body_of(request, TuneSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        parameters = {name: body[name] for name in ("budget_s", "strategy")}
        jobs = plan(
            actor=actor,
            revision=revision_get(mlmodel, body["revision"]),
            targets=body["targets"],
            parameters={name: value for name, value in parameters.items() if value is not None},
        )
        return Response({"items": jobs_data(jobs)}, status=202)
