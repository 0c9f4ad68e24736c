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
from registry.services.work.target import target_enable, target_save, targets_import


@example(
    {
        "slug": "x86-64-avx512",
        "title": "x86-64 with AVX-512",
        "architecture": "x86-64",
        "features": ["avx2", "avx512f", "fma"],
        "memory_bytes": 0,
        "cores": 0,
        "is_emulated": False,
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
    memory_bytes = serializers.IntegerField(help_text="Least memory of its devices; 0: any.")
    cores = serializers.IntegerField(help_text="Least number of cores of its devices; 0: any.")
    is_emulated = serializers.BooleanField(
        help_text="Its speeds are never compared with those of real machines."
    )
    rank = serializers.IntegerField(
        help_text="Of several matching targets, the one with the highest rank is used."
    )
    enabled = serializers.BooleanField(help_text="Whether new models are tuned for it.")
    created_at = serializers.DateTimeField()


@example({"enabled": False})
class TargetChangeSerializer(Strict):
    enabled = serializers.BooleanField()


@example(
    {
        "title": "ARM64 with SVE",
        "architecture": "arm64",
        "features": ["asimd", "sve"],
        "rank": 15,
        "memory_bytes": 8589934592,
        "cores": 4,
    }
)
class TargetDefinitionSerializer(Strict):
    title = serializers.CharField(default="", allow_blank=True, max_length=200)
    architecture = serializers.CharField(max_length=32)
    features = serializers.ListField(child=serializers.CharField(), default=list, max_length=200)
    rank = serializers.IntegerField(default=0)
    memory_bytes = serializers.IntegerField(default=0)
    cores = serializers.IntegerField(default=0)


@example({"slug": "arm64-sve", "architecture": "arm64", "features": ["asimd", "sve"], "rank": 15})
class NamedDefinitionSerializer(TargetDefinitionSerializer):
    slug = serializers.CharField(max_length=64)


@example(
    {"targets": [{"slug": "arm64-sve", "architecture": "arm64", "features": ["asimd", "sve"]}]}
)
class TargetDocumentSerializer(Strict):
    targets = serializers.ListField(
        child=NamedDefinitionSerializer(), min_length=1, max_length=1000
    )
    machine = serializers.DictField(
        required=False, help_text="Ignored: `hpcfair targets detect --json` describes the machine."
    )


class TargetsView(ApiView):
    @extend_schema(
        operation_id="target_list", parameters=[PageQuery], responses=page_of(TargetSerializer)
    )
    def get(self, request: Request) -> Response:
        """List the targets of this hub, sorted by name."""
        query = query_of(request, PageQuery)
        return paged(targets(), TargetSerializer, query, name="target", order=("slug",))

    @extend_schema(
        operation_id="target_import",
        request=TargetDocumentSerializer,
        responses={201: TargetSerializer(many=True)},
    )
    def post(self, request: Request) -> Response:
        """Register targets, or change their entries, all or none; for the hub's staff."""
        actor, body = signed_in(request), body_of(request, TargetDocumentSerializer)
        rows = targets_import(actor=actor, document={"targets": body["targets"]})
        return Response(TargetSerializer(rows, many=True).data, status=201)


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

    @extend_schema(
        operation_id="target_save", request=TargetDefinitionSerializer, responses=TargetSerializer
    )
    def put(self, request: Request, slug: str) -> Response:
        """Register a target, or change its entry; for the hub's staff. Architecture and features
        of a target with devices or builds cannot be changed."""
        actor, body = signed_in(request), body_of(request, TargetDefinitionSerializer)
        return Response(TargetSerializer(target_save(actor=actor, slug=slug, definition=body)).data)
