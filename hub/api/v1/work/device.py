"""Devices, changes of their state, and codes with which machines join."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.selectors.people.account import user_get
from registry.selectors.work.device import device_get, devices
from registry.services.work.device import DECISIONS, device_check
from registry.services.work.devicecode import LIFETIME, device_code_issue
from registry.states import DeviceHealth, DeviceState


@example(
    {
        "uuid": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11",
        "name": "bench-1",
        "target": "x86-64-avx512",
        "owner": "alice",
        "health": "online",
        "state": "active",
        "reason": "",
        "is_emulated": False,
        "facts": {"processor": "Xeon Gold 6338", "cores": 32},
        "tools": {"onnxruntime": {"onnxruntime": "1.24.1"}},
        "agent_version": "1.0",
        "failures_in_row": 0,
        "run_s": 4711.0,
        "last_seen_at": "2026-01-02T03:04:05Z",
        "created_at": "2026-01-02T03:04:05Z",
    }
)
class DeviceSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    name = serializers.CharField()
    target = serializers.CharField(source="target.slug")
    owner = serializers.CharField(
        source="owner.username",
        allow_null=True,
        default=None,
        help_text="Null for the hub's own workers.",
    )
    health = serializers.ChoiceField(DeviceHealth.choices, help_text="Whether it reports.")
    state = serializers.ChoiceField(
        DeviceState.choices,
        help_text="Set by its owner, an operator or the hub; only `active` devices get jobs.",
    )
    reason = serializers.CharField(allow_blank=True, help_text="Why it is in its state.")
    is_emulated = serializers.BooleanField(
        help_text="Its speed is never compared with that of real machines."
    )
    facts = serializers.DictField(help_text="Description of the machine by its worker.")
    tools = serializers.DictField(
        help_text="Its backends, with names and versions of the programs that run builds."
    )
    agent_version = serializers.CharField(allow_blank=True, help_text="Empty for workers.")
    failures_in_row = serializers.IntegerField(
        help_text="Number of newest attempts in a row that failed because of the machine."
    )
    run_s = serializers.FloatField(help_text="Total seconds of its attempts.")
    last_seen_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


@example({"state": "draining", "reason": "new memory on Monday"})
class DeviceChangeSerializer(Strict):
    state = serializers.ChoiceField(
        DeviceState.choices,
        help_text="`active`: it gets jobs again; `draining`: it ends its job and gets no more; "
        "`maintenance`: it gets none until it is resumed; `quarantined`: its jobs are queued "
        "again, and its results are refused; `retired`: for good.",
    )
    reason = serializers.CharField(default="", allow_blank=True, max_length=500)


@example({"target": "x86-64-avx512"})
class DeviceCodeRequestSerializer(Strict):
    target = serializers.CharField(
        default=None,
        allow_null=True,
        help_text="By default the target of the machine's processor.",
    )
    owner = serializers.CharField(
        default=None, allow_null=True, help_text="Person who owns the device; by default you."
    )


@example({"code": "BCDF-GHJK-LMNP-QRST", "expires_at": "2026-01-02T04:04:05Z"})
class DeviceCodeSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Shown once; enrols one machine.")
    expires_at = serializers.DateTimeField()


class DevicesView(ApiView):
    @extend_schema(
        operation_id="device_list", parameters=[PageQuery], responses=page_of(DeviceSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the machines that work for this hub, sorted by name."""
        device_check()
        query = query_of(request, PageQuery)
        return paged(devices(), DeviceSerializer, query, name="device", order=("name",))


class DeviceView(ApiView):
    @extend_schema(operation_id="device_get", responses=DeviceSerializer)
    def get(self, request: Request, device: str) -> Response:  # noqa: ARG002
        """Fetch a device."""
        device_check()
        return Response(DeviceSerializer(device_get(device)).data)

    @extend_schema(
        operation_id="device_change", request=DeviceChangeSerializer, responses=DeviceSerializer
    )
    def patch(self, request: Request, device: str) -> Response:
        """Drain, resume, maintain, quarantine or retire a device; for its owner and the hub's
        staff. Only the staff may begin or end a quarantine."""
        actor, body = signed_in(request), body_of(request, DeviceChangeSerializer)
        decide = DECISIONS[DeviceState(body["state"])]
        changed = decide(actor=actor, name=device, reason=body["reason"])
        return Response(DeviceSerializer(changed).data)


class DeviceCodesView(ApiView):
    @extend_schema(
        operation_id="device_code_issue",
        request=DeviceCodeRequestSerializer,
        responses={201: DeviceCodeSerializer},
    )
    def post(self, request: Request) -> Response:
        """Issue a one-time code with which a machine joins as a device; for the hub's staff."""
        actor, body = signed_in(request), body_of(request, DeviceCodeRequestSerializer)
        owner = user_get(body["owner"]) if body["owner"] else None
        expires_at = timezone.now() + LIFETIME
        code = device_code_issue(actor=actor, target=body["target"], owner=owner)
        shown = DeviceCodeSerializer({"code": code, "expires_at": expires_at})
        return Response(shown.data, status=201)
