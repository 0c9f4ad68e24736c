"""Jobs for agents of devices: claims, and heartbeats for all jobs of a device at once."""

import threading
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.deviceauth import AgentView, device_of
from hub.api.schema import example
from hub.api.v1.work.agent import CLOCK, ClockSerializer, now
from hub.api.views import Strict, body_of
from registry.ids import SHA256_PATTERN
from registry.services.work.agent import agent_busy, agent_claim, agent_heartbeat
from registry.services.work.healthcheck import device_check_due
from registry.services.work.operations import plain
from registry.states import HUB_JOBS, DeviceState, JobKind

_KINDS = [(kind.value, kind.label) for kind in JobKind if kind not in HUB_JOBS]
_JOB = "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11"
#: Most digests of cached files in a claim, and most jobs in a heartbeat.
_CACHED, _HELD = 10_000, 100
#: Claims of this process at once, and seconds that another one waits for its turn. Claims of one
#: target wait for one another in the database: each would occupy a thread that other requests need.
_CLAIMS, _TURN_S = 2, 0.5
_turns = threading.BoundedSemaphore(_CLAIMS)


@example({"kinds": ["tune", "reproduce"], "available_s": 3500.0, "cached": []})
class ClaimSerializer(Strict):
    kinds = serializers.ListField(
        child=serializers.ChoiceField(_KINDS), min_length=1, max_length=len(_KINDS)
    )
    available_s = serializers.FloatField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=1e9,
        help_text="Seconds for which the device is available. Longer jobs are passed over. "
        "Null: no limit.",
    )
    cached = serializers.ListField(
        child=serializers.RegexField(f"^{SHA256_PATTERN}$"),
        default=list,
        max_length=_CACHED,
        help_text="Digests of files in the cache of the device.",
    )


@example({"job": None, "wait_s": 15.0, "reason": "no job is queued", "check": None, "clock": CLOCK})
class OfferSerializer(ClockSerializer):
    job = serializers.DictField(
        allow_null=True,
        help_text="The ticket of a job, with its `fence` and `lease_s`; null if there is none.",
    )
    wait_s = serializers.FloatField(help_text="Seconds after which to claim again.")
    reason = serializers.CharField(allow_blank=True, help_text="Why there is no job.")
    check = serializers.DictField(
        allow_null=True, help_text="`seed` of a health check to be answered before the next claim."
    )


class HeldSerializer(Strict):
    job = serializers.UUIDField()
    fence = serializers.IntegerField(min_value=1)


@example({"jobs": [{"job": _JOB, "fence": 3}], "clock": "2026-01-02T03:04:05Z"})
class HeartbeatSerializer(Strict):
    jobs = HeldSerializer(many=True, max_length=_HELD)  # type: ignore[call-arg]
    clock = serializers.CharField(max_length=40, default=None, allow_null=True)


class RenewalSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField()
    fence = serializers.IntegerField()
    lease_s = serializers.FloatField(help_text="Seconds from now until the lease ends.")
    cancel = serializers.BooleanField(help_text="Stop, and report the job `released`.")
    lost = serializers.BooleanField(source="is_lost", help_text="Stop; report nothing.")


@example(
    {
        "jobs": [{"job": _JOB, "fence": 3, "lease_s": 90.0, "cancel": False, "lost": False}],
        "state": "active",
        "clock": CLOCK,
    }
)
class RenewalsSerializer(ClockSerializer):
    jobs = RenewalSerializer(many=True)
    state = serializers.ChoiceField(
        DeviceState.choices, help_text="A device that is `draining` ends its jobs and gets no more."
    )


class AgentClaimView(AgentView):
    @extend_schema(operation_id="agent_claim", request=ClaimSerializer, responses=OfferSerializer)
    def post(self, request: Request) -> Response:
        """Claim the next job for this device."""
        device, body = device_of(request), body_of(request, ClaimSerializer)
        check = device_check_due(device)
        if check is not None:
            offer = {"job": None, "wait_s": 0.0, "reason": "health check"}
            return Response({**offer, "check": {"seed": check.seed}, "clock": now()})
        body |= {"kinds": [JobKind(kind) for kind in body["kinds"]]}
        if _turns.acquire(timeout=_TURN_S):
            try:
                claim = agent_claim(device=device, **body)
            finally:
                _turns.release()
        else:
            claim = agent_busy()
        ticket = None if claim.ticket is None else plain(claim.ticket)
        offer = {"job": ticket, "wait_s": claim.wait_s, "reason": claim.reason}
        return Response({**offer, "check": None, "clock": now()})


class AgentHeartbeatView(AgentView):
    @extend_schema(
        operation_id="agent_heartbeat", request=HeartbeatSerializer, responses=RenewalsSerializer
    )
    def post(self, request: Request) -> Response:
        """Renew the leases of all jobs of this device. Without jobs it is a sign of life."""
        device = device_of(request)
        jobs = body_of(request, HeartbeatSerializer)["jobs"]
        renewals = agent_heartbeat(
            device=device, held=[(str(each["job"]), each["fence"]) for each in jobs]
        )
        renewed = RenewalSerializer(renewals, many=True).data
        return Response({"jobs": renewed, "state": device.state, "clock": now()})
