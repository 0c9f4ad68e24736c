"""Reproductions: runs of a build on the test tensors."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.selectors.results.build import build_get
from registry.selectors.results.reproduction import history
from registry.states import ReproductionOutcome

REPRODUCTION_EXAMPLE = {
    "uuid": "0a6f3a0e-6f5f-4f0e-9d52-0f4d4f7f2b11",
    "outcome": "reproduced",
    "deviation": {"max_absolute": 1.2e-7, "relative_l2": 3.1e-8},
    "detail": "",
    "tools": {"python": "3.13.1", "hpcfair": "0.1.0", "onnxruntime": "1.31.1"},
    "device": "node-17",
    "job": "8b7df143-d91c-4fcd-a7c5-4a0b53cb2b0e",
    "created_at": "2026-01-02T03:04:05Z",
}


@example(REPRODUCTION_EXAMPLE)
class ReproductionSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    outcome = serializers.ChoiceField(
        ReproductionOutcome.choices, help_text="`failed`: it did not run."
    )
    deviation = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Deviation from the expected outputs; empty if there were no outputs.",
    )
    detail = serializers.CharField(help_text="Reason why it differs or did not run.")
    tools = serializers.DictField(
        child=serializers.CharField(), help_text="Names and versions of the tools that ran it."
    )
    device = serializers.CharField(source="job.device.name", allow_null=True)
    job = serializers.UUIDField(source="job.uuid", allow_null=True)
    created_at = serializers.DateTimeField()


class BuildReproductionsView(ApiView):
    @extend_schema(
        operation_id="build_reproductions",
        parameters=[PageQuery],
        responses=page_of(ReproductionSerializer),
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the reproductions of a build on the test tensors, newest first.

        A build is reproduced after each search that publishes it, and after each change of a
        device's tools.
        """
        query = query_of(request, PageQuery)
        rows = history(build_get(request.user, str(uuid)))
        order = ("-created_at", "-id")
        return paged(rows, ReproductionSerializer, query, name="reproduction", order=order)
