"""Devices."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.selectors.work.device import device_get, devices
from registry.states import DeviceHealth


@example(
    {
        "name": "bench-1",
        "target": "x86-64-avx512",
        "health": "online",
        "facts": {"processor": "Xeon Gold 6338", "cores": 32},
        "last_seen_at": "2026-01-02T03:04:05Z",
        "created_at": "2026-01-02T03:04:05Z",
    }
)
class DeviceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    target = serializers.CharField(source="target.slug")
    health = serializers.ChoiceField(DeviceHealth.choices)
    facts = serializers.DictField(help_text="Description of the machine by its worker.")
    last_seen_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class DevicesView(ApiView):
    @extend_schema(
        operation_id="device_list", parameters=[PageQuery], responses=page_of(DeviceSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the machines that work for this hub, sorted by name."""
        query = query_of(request, PageQuery)
        return paged(devices(), DeviceSerializer, query, name="device", order=("name",))


class DeviceView(ApiView):
    @extend_schema(operation_id="device_get", responses=DeviceSerializer)
    def get(self, request: Request, device: str) -> Response:  # noqa: ARG002
        """Fetch a device."""
        return Response(DeviceSerializer(device_get(device)).data)
