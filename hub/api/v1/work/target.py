"""Targets."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.selectors.work.target import target_get, targets
from registry.services.work.target import target_enable


@example(
    {
        "slug": "x86-64-avx512",
        "title": "x86-64 with AVX-512",
        "architecture": "x86-64",
        "features": ["avx2", "avx512f", "fma"],
        "rank": 30,
        "enabled": True,
        "created_at": "2026-01-02T03:04:05Z",
    }
)
class TargetSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    title = serializers.CharField(allow_blank=True)
    architecture = serializers.CharField()
    features = serializers.ListField(
        child=serializers.CharField(), help_text="Features that a machine needs to run its builds."
    )
    rank = serializers.IntegerField(
        help_text="Of several matching targets, the one with the highest rank is used."
    )
    enabled = serializers.BooleanField(help_text="Whether new models are tuned for it.")
    created_at = serializers.DateTimeField()


@example({"enabled": False})
class TargetChangeSerializer(Strict):
    enabled = serializers.BooleanField()


class TargetsView(ApiView):
    @extend_schema(
        operation_id="target_list", parameters=[PageQuery], responses=page_of(TargetSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the targets of this hub, sorted by name."""
        query = query_of(request, PageQuery)
        return paged(targets(), TargetSerializer, query, name="target", order=("slug",))


class TargetView(ApiView):
    @extend_schema(operation_id="target_get", responses=TargetSerializer)
    def get(self, request: Request, slug: str) -> Response:  # noqa: ARG002
        """Fetch a target."""
        return Response(TargetSerializer(target_get(slug)).data)

    @extend_schema(
        operation_id="target_change", request=TargetChangeSerializer, responses=TargetSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Enable or disable tuning for a target; for the hub's staff."""
        actor, body = signed_in(request), body_of(request, TargetChangeSerializer)
        target_enable(actor=actor, slug=slug, enabled=body["enabled"])
        return Response(TargetSerializer(target_get(slug)).data)
