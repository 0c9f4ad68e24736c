"""Agents of devices: enrolment, facts of their machines, health checks."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.deviceauth import AgentView, device_of
from hub.api.schema import example
from hub.api.views import ApiView, Strict, body_of
from registry.attestations.keys import SigningUnavailable
from registry.services.trust.key import current_key
from registry.services.work.agent import heartbeat_s, poll_s
from registry.services.work.device import device_retire
from registry.services.work.enrolment import device_enrol, device_hello
from registry.services.work.healthcheck import device_check_answer
from registry.states import DeviceState
from registry.tables import Device

CLOCK = "2026-01-02T03:04:05.000000+00:00"
_TARGET = {
    "slug": "x86-64-avx512",
    "title": "x86-64 with AVX-512",
    "architecture": "x86-64",
    "features": ["avx2", "avx512f"],
    "rank": 40,
}
#: Largest description of a machine and of its tools, in bytes.
_LARGEST_HELLO = 2**18


class ClockSerializer(serializers.Serializer[Any]):
    clock = serializers.DateTimeField(
        help_text="Time of the hub, by which times in results are checked."
    )


class AgentTargetSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    architecture = serializers.CharField()
    features = serializers.ListField(child=serializers.CharField())
    rank = serializers.IntegerField()


class IntervalsSerializer(ClockSerializer):
    device = serializers.CharField()
    target = AgentTargetSerializer()
    state = serializers.ChoiceField(
        DeviceState.choices, help_text="Claims of a device that is not `active` get no job."
    )
    heartbeat_s = serializers.FloatField(help_text="Seconds between heartbeats.")
    poll_s = serializers.FloatField(help_text="Seconds between claims while there is no job.")


@example(
    {
        "code": "KFMT-QHXC-TBVB-RDNP",
        "name": "bench-1",
        "facts": {"processor": "Xeon Gold 6338", "cores": 32},
        "public_key": "-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n",
    }
)
class EnrolSerializer(Strict):
    code = serializers.CharField(max_length=100, help_text="One-time code of an operator.")
    name = serializers.CharField(max_length=200)
    facts = serializers.DictField(help_text="Facts from `hpcfair.machine.describe()`.")
    public_key = serializers.CharField(
        max_length=1000, trim_whitespace=False, help_text="Ed25519 key in PEM; signs the results."
    )
    tools = serializers.DictField(default=dict)
    agent_version = serializers.CharField(max_length=40, default="", allow_blank=True)


@example(
    {
        "device": "bench-1",
        "target": _TARGET,
        "state": "active",
        "heartbeat_s": 22.5,
        "poll_s": 15.0,
        "clock": CLOCK,
        "token": "hpd_0123456789abcdefghijklmnopqrstuv012345",
        "hub_key": "-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n",
    }
)
class EnrolledSerializer(IntervalsSerializer):
    token = serializers.CharField(help_text="Shown once.")
    hub_key = serializers.CharField(
        allow_blank=True, help_text="Key in PEM by which the hub signs bundles; may be empty."
    )


@example(
    {
        "facts": {"processor": "Xeon Gold 6338", "cores": 32},
        "tools": {"onnxruntime": {"onnxruntime": "1.24.1"}},
        "agent_version": "1.0",
        "clock": "2026-01-02T03:04:05Z",
    }
)
class HelloSerializer(Strict):
    facts = serializers.DictField()
    tools = serializers.DictField(help_text="Backend to names and versions of its programs.")
    agent_version = serializers.CharField(max_length=40)
    clock = serializers.CharField(
        max_length=40,
        default=None,
        allow_null=True,
        help_text="Time of the device; facts note a large difference.",
    )


@example(
    {
        "device": "bench-1",
        "target": _TARGET,
        "state": "active",
        "heartbeat_s": 22.5,
        "poll_s": 15.0,
        "clock": CLOCK,
    }
)
class WelcomeSerializer(IntervalsSerializer):
    pass


@example({"seed": 17, "outputs": {"onnxruntime": [1, 0, 3]}})
class CheckSerializer(Strict):
    seed = serializers.IntegerField(min_value=0)
    outputs = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField(), max_length=10_000)
    )


@example({"state": "active"})
class StateSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(DeviceState.choices)


class AgentEnrolView(ApiView):
    authentication_classes = []
    sign_in_for = frozenset()

    @extend_schema(
        operation_id="agent_enrol", request=EnrolSerializer, responses={201: EnrolledSerializer}
    )
    def post(self, request: Request) -> Response:
        """Enrol a machine as a device, with a one-time code."""
        device, token = device_enrol(**body_of(request, EnrolSerializer))
        return Response({**_intervals(device), "token": token, "hub_key": _hub_key()}, status=201)


class AgentHelloView(AgentView):
    def body_limit(self) -> int:
        return _LARGEST_HELLO

    @extend_schema(operation_id="agent_hello", request=HelloSerializer, responses=WelcomeSerializer)
    def post(self, request: Request) -> Response:
        """Send the facts of the machine and its tools, at each start of the agent."""
        device = device_hello(device=device_of(request), **body_of(request, HelloSerializer))
        return Response(_intervals(device))


class AgentCheckView(AgentView):
    @extend_schema(operation_id="agent_check", request=CheckSerializer, responses=StateSerializer)
    def post(self, request: Request) -> Response:
        """Send the outputs of a health check; wrong ones put the device into quarantine."""
        device = device_check_answer(device=device_of(request), **body_of(request, CheckSerializer))
        return Response({"state": device.state})


class AgentLeaveView(AgentView):
    @extend_schema(operation_id="agent_leave", request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Retire this device. Its jobs are queued again, and its token ends."""
        device_retire(actor=None, name=device_of(request).name, reason="Its agent left.")
        return Response(status=204)


def _intervals(device: Device) -> dict[str, Any]:
    return {
        "device": device.name,
        "target": AgentTargetSerializer(device.target).data,
        "state": device.state,
        "heartbeat_s": heartbeat_s(),
        "poll_s": poll_s(),
        "clock": now(),
    }


def _hub_key() -> str:
    try:
        return current_key()[0].public_pem
    except SigningUnavailable:
        return ""


def now() -> str:
    """The time of the hub."""
    return timezone.now().isoformat()
