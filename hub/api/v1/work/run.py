"""Runs with a person's inputs on a device of a target."""

from statistics import median
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.repository.file import ANSWERS, CONDITIONS
from hub.api.v1.results.acceptance import AcceptanceSerializer
from hub.api.v1.results.build import BUILD_EXAMPLE, BuildSerializer, builds_data
from hub.api.v1.storage.blob import DIGEST_EXAMPLE
from hub.api.v1.work.job import JOB_EXAMPLE, JobSerializer, jobs_data
from hub.api.views import ApiView, body_of, plain_request
from hub.files import serve_blob
from registry.ids import SHA256_PATTERN
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.run import run_get, run_outputs
from registry.selectors.work.target import target_get
from registry.services.work.run import run_delete, run_submit
from registry.tables import RemoteRun

ARRAY_EXAMPLE = {"name": "image", "dtype": "float32", "shape": [8, 3, 64, 64]}


@example(
    {
        "target": "x86-64-avx512",
        "inputs": DIGEST_EXAMPLE,
        "revision": "main",
        "tolerance": "exact",
    }
)
class RunRequestSerializer(AcceptanceSerializer):
    target = serializers.CharField(max_length=64, help_text="A device of this target runs it.")
    inputs = serializers.RegexField(
        f"^{SHA256_PATTERN}$",
        help_text="SHA-256 of a `.npz` without pickles, uploaded by `PUT /blobs/{sha256}`: one "
        "array for each input of the network, under its name.",
    )
    revision = serializers.CharField(default=None, allow_null=True)
    build = serializers.UUIDField(
        default=None,
        allow_null=True,
        help_text="The build to run. Without it the one that `hpcfair.load` would choose on a "
        "machine of the target.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse limits together with a named build, to which they cannot apply."""
        if attrs["build"] is not None and not attrs.keys().isdisjoint({"tolerance"}):
            raise serializers.ValidationError({"tolerance": ["Give a build or a tolerance."]})
        if attrs["build"] is not None and attrs["min_accuracy"] is not None:
            raise serializers.ValidationError({"min_accuracy": ["Give a build or a limit."]})
        return super().validate(attrs)


@example(ARRAY_EXAMPLE)
class ArraySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    dtype = serializers.CharField()
    shape = serializers.ListField(child=serializers.IntegerField())


RUN_EXAMPLE = {
    "job": {**JOB_EXAMPLE, "kind": "run", "state": "succeeded", "parameters": {}},
    "build": BUILD_EXAMPLE,
    "reason": "On x86-64-avx512 it is the fastest within tolerance 'exact'.",
    "inputs": [ARRAY_EXAMPLE],
    "outputs": [{"name": "scores", "dtype": "float32", "shape": [8, 10]}],
    "outputs_url": f"/api/v1/jobs/{JOB_EXAMPLE['uuid']}/run/outputs",
    "outputs_bytes": 586,
    "samples_ns": [812_000, 809_000, 811_000],
    "median_ns": 811_000,
    "first_ns": 2_911_000,
    "deviation": {
        "max_absolute": 1.2e-7,
        "max_relative": 1.1e-7,
        "relative_l2": 3.1e-8,
        "cosine": 1.0,
    },
    "not_compared": "",
    "peak_rss_bytes": 91_234_304,
    "expires_at": "2026-01-09T03:04:05Z",
}


@example(RUN_EXAMPLE)
class RunSerializer(serializers.Serializer[Any]):
    """A run, visible only to the person who requested it. Measurements are null before its end."""

    job = serializers.SerializerMethodField(help_text="The job that runs it, with its progress.")
    build = serializers.SerializerMethodField(help_text="Null for the published network.")
    reason = serializers.CharField(help_text="Why this build runs.")
    inputs = serializers.SerializerMethodField()
    outputs = ArraySerializer(many=True, source="report.outputs", default=None, allow_null=True)
    outputs_url = serializers.SerializerMethodField(help_text="Address of the `.npz` of outputs.")
    outputs_bytes = serializers.IntegerField(
        source="outputs.size_bytes", default=None, allow_null=True
    )
    samples_ns = serializers.ListField(
        child=serializers.IntegerField(),
        source="report.samples_ns",
        default=None,
        allow_null=True,
        help_text="Duration of each timed run in nanoseconds, in order.",
    )
    median_ns = serializers.SerializerMethodField(help_text="Median of `samples_ns`, in ns.")
    first_ns = serializers.IntegerField(
        source="report.first_ns",
        default=None,
        allow_null=True,
        help_text="Duration in ns of the run that gave the outputs, transfer of arrays included.",
    )
    deviation = serializers.DictField(
        source="report.deviation",
        default=None,
        allow_null=True,
        help_text="Deviation of the outputs from the network in float32 without optimisations, on "
        "the same inputs; null if they were not compared.",
    )
    not_compared = serializers.CharField(
        source="report.not_compared",
        default="",
        allow_blank=True,
        help_text="Why there is no deviation.",
    )
    peak_rss_bytes = serializers.IntegerField(
        source="report.peak_rss_bytes", default=None, allow_null=True
    )
    expires_at = serializers.DateTimeField(
        help_text="The run, its inputs and its outputs are deleted after this time."
    )

    @extend_schema_field(JobSerializer)
    def get_job(self, run: RemoteRun) -> dict[str, Any]:
        return jobs_data([run.job])[0]

    @extend_schema_field(BuildSerializer(allow_null=True))
    def get_build(self, run: RemoteRun) -> dict[str, Any] | None:
        return builds_data([run.build])[0] if run.build else None

    @extend_schema_field(ArraySerializer(many=True))
    def get_inputs(self, run: RemoteRun) -> list[dict[str, Any]]:
        return [{"name": name, **array} for name, array in run.arrays.items()]

    def get_outputs_url(self, run: RemoteRun) -> str | None:
        return f"/api/v1/jobs/{run.job.uuid}/run/outputs" if run.outputs_id else None

    def get_median_ns(self, run: RemoteRun) -> int | None:
        samples_ns = run.report.get("samples_ns")
        return round(median(samples_ns)) if samples_ns else None


class RunsView(ApiView):
    @extend_schema(
        operation_id="model_run", request=RunRequestSerializer, responses={202: RunSerializer}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Run a build on a device of a target with your own inputs.

        The inputs are compared with the network's signature before anything is queued. The run is
        private to you, is limited by quotas, and is deleted after some days.
        """
        actor, body = signed_in(request), body_of(request, RunRequestSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        revision = revision_get(mlmodel, body["revision"])
        revision.mlmodel = mlmodel
        run = run_submit(
            actor=actor,
            revision=revision,
            target=target_get(body["target"]),
            inputs=body["inputs"],
            tolerance=body["tolerance"],
            min_accuracy=body["min_accuracy"],
            build=str(body["build"]) if body["build"] else None,
        )
        return Response(RunSerializer(run_get(actor, str(run.job.uuid))).data, status=202)


class RunView(ApiView):
    sign_in_for = frozenset({"GET", "HEAD", "DELETE"})

    @extend_schema(operation_id="run_get", responses=RunSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch one of your runs: its build, times, and deviation from the reference."""
        return Response(RunSerializer(run_get(request.user, str(uuid))).data)

    @extend_schema(operation_id="run_delete", responses={204: None})
    def delete(self, request: Request, uuid: UUID) -> Response:
        """Delete the inputs, the outputs and the measurements of a run that has ended."""
        actor = signed_in(request)
        run_delete(actor=actor, run=run_get(actor, str(uuid)))
        return Response(status=204)


class RunOutputsView(ApiView):
    sign_in_for = frozenset({"GET", "HEAD"})

    @extend_schema(operation_id="run_outputs", parameters=CONDITIONS, responses=ANSWERS)
    def get(self, request: Request, uuid: UUID) -> HttpResponseBase:
        """Fetch the outputs of one of your runs as `.npz`: an array for each output."""
        blob = run_outputs(run_get(request.user, str(uuid)))
        return serve_blob(
            plain_request(request),
            blob,
            path=f"outputs-{uuid}.npz",
            cache_control="private, no-store",
        )
