"""Reads, writes and ends of jobs, for agents."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.deviceauth import AgentView, device_of
from hub.api.schema import example
from hub.api.views import Strict, body_of
from registry.errors import Invalid
from registry.services.work.agent import agent_end, agent_read, agent_write
from registry.services.work.operations import UNNUMBERED
from registry.services.work.report import OUTCOMES
from registry.states import JobState

#: Largest body of a read or a write: a record with its raw samples, the source of a workload.
_LARGEST_WRITE = 32 * 2**20
_LARGEST_NUMBER = 2**53


class FenceSerializer(Strict):
    fence = serializers.IntegerField(min_value=1, help_text="Fence of the claim, from its ticket.")


@example({"fence": 3, "parameters": {"search_key": "b" * 64}})
class ReadSerializer(FenceSerializer):
    parameters = serializers.DictField(default=dict)


@example({"fence": 3, "number": 12, "columns": {"message": "12 configurations are left out"}})
class WriteSerializer(FenceSerializer):
    number = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=_LARGEST_NUMBER,
        help_text="Number of the write within the claim. A repeated number changes nothing.",
    )
    columns = serializers.DictField(default=dict)


@example({"value": {"record_id": "b" * 64}})
class ValueSerializer(serializers.Serializer[Any]):
    value = serializers.JSONField(allow_null=True)


@example({"class": "timeout", "code": "job_timeout", "detail": "It took longer than 300 s."})
class EndFailureSerializer(Strict):
    code = serializers.CharField(max_length=64)
    detail = serializers.CharField(max_length=10_000, allow_blank=True, trim_whitespace=False)

    def get_fields(self) -> dict[str, Any]:
        # "class" is a keyword of Python and cannot be an attribute.
        return {"class": serializers.CharField(max_length=16), **super().get_fields()}


@example(
    {
        "fence": 3,
        "outcome": "succeeded",
        "result": {"summary": "exact 1.42 times as fast after 31 trials"},
        "signature": "bGV0IHRoaXMgYmUgYSBzaWduYXR1cmU=",
    }
)
class EndSerializer(FenceSerializer):
    outcome = serializers.ChoiceField([(outcome, outcome) for outcome in OUTCOMES])
    result = serializers.DictField(default=None, allow_null=True)
    failure = EndFailureSerializer(default=None, allow_null=True)
    signature = serializers.CharField(
        max_length=128,
        help_text="Base64 of the device's signature over job, fence, outcome and result.",
    )


@example({"state": "succeeded", "is_late": False})
class EndedSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(JobState.choices, help_text="State of the job.")
    is_late = serializers.BooleanField(
        help_text="The claim had ended in another way: the report is stored, without effect."
    )


class AgentReadView(AgentView):
    def body_limit(self) -> int:
        return _LARGEST_WRITE

    @extend_schema(operation_id="agent_job_read", request=ReadSerializer, responses=ValueSerializer)
    def post(self, request: Request, uuid: UUID, operation: str) -> Response:
        """Read data that the hub stores for a job that this device holds."""
        body = body_of(request, ReadSerializer)
        value = agent_read(device=device_of(request), job_uuid=str(uuid), name=operation, **body)
        return Response({"value": value})


class AgentWriteView(AgentView):
    def body_limit(self) -> int:
        return _LARGEST_WRITE

    @extend_schema(
        operation_id="agent_job_write", request=WriteSerializer, responses=ValueSerializer
    )
    def post(self, request: Request, uuid: UUID, operation: str) -> Response:
        """Write a result of a job that this device holds, at most once per number."""
        body = body_of(request, WriteSerializer)
        if body["number"] is None and operation not in UNNUMBERED:
            fields = {"number": "is missing"}
            raise Invalid("invalid_request", "This write needs a number.", fields=fields)
        value = agent_write(device=device_of(request), job_uuid=str(uuid), name=operation, **body)
        return Response({"value": value})


class AgentEndView(AgentView):
    @extend_schema(operation_id="agent_job_end", request=EndSerializer, responses=EndedSerializer)
    def post(self, request: Request, uuid: UUID) -> Response:
        """Report the end of a claim. Repeating a report has no effect."""
        body = body_of(request, EndSerializer)
        return Response(agent_end(device=device_of(request), job_uuid=str(uuid), **body))
