"""Job bundles: jobs for devices without a network, for operators."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, Strict, announced_length, body_of, paged, query_of
from registry.errors import Invalid
from registry.selectors.work.bundle import bundle_get, bundle_pieces, bundles
from registry.services.work.bundle import (
    LEAST_LEASE_S,
    LONGEST_LEASE_S,
    bundle_cancel,
    bundle_export,
)
from registry.services.work.bundleimport import bundle_import
from registry.states import BundleState

_TYPE = "application/x-tar"
_THREE_DAYS_S = 3 * 86_400.0


@example({"device": "cave-1", "budget_s": 3600, "lease_s": 259200})
class BundleExportSerializer(Strict):
    device = serializers.CharField(max_length=200)
    budget_s = serializers.FloatField(min_value=1, max_value=LONGEST_LEASE_S)
    lease_s = serializers.FloatField(
        min_value=LEAST_LEASE_S,
        max_value=LONGEST_LEASE_S,
        default=_THREE_DAYS_S,
        help_text="Seconds within which the results must be imported.",
    )


@example({"job": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11", "outcome": "succeeded", "detail": ""})
class BundledJobSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField()
    outcome = serializers.CharField(
        help_text="`succeeded`, `failed`, `released`, `unfinished`, `late` or `refused`."
    )
    detail = serializers.CharField(allow_blank=True)


@example(
    {
        "uuid": "5d0c1f0e-11aa-4b77-9a3b-2f4d4c1f0e11",
        "device": "cave-1",
        "target": "x86-64-avx512",
        "state": "imported",
        "jobs": ["0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11"],
        "budget_s": 3600.0,
        "lease_until": "2026-01-05T03:04:05Z",
        "created_at": "2026-01-02T03:04:05Z",
        "imported_at": "2026-01-03T03:04:05Z",
        "report": [
            {"job": "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11", "outcome": "succeeded", "detail": ""}
        ],
    }
)
class BundleSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    device = serializers.CharField(source="device.name")
    target = serializers.CharField(source="device.target.slug")
    state = serializers.ChoiceField(BundleState.choices)
    jobs = serializers.ListField(child=serializers.UUIDField(), source="claims")
    budget_s = serializers.FloatField()
    lease_until = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    imported_at = serializers.DateTimeField(allow_null=True)
    report = BundledJobSerializer(
        many=True, help_text="Outcome of each job; empty before the import."
    )


class BundlesView(ApiView):
    sign_in_for = frozenset({"GET", "POST"})

    @extend_schema(
        operation_id="bundle_list", parameters=[PageQuery], responses=page_of(BundleSerializer)
    )
    def get(self, request: Request) -> Response:
        """List job bundles, newest first; for the hub's staff."""
        query = query_of(request, PageQuery)
        return paged(bundles(signed_in(request)), BundleSerializer, query, name="bundle")

    @extend_schema(
        operation_id="bundle_export",
        request=BundleExportSerializer,
        responses={201: BundleSerializer},
    )
    def post(self, request: Request) -> Response:
        """Claim jobs for a device without a network, as a bundle; for the hub's staff."""
        body = body_of(request, BundleExportSerializer)
        row = bundle_export(actor=signed_in(request), **body)
        return Response(BundleSerializer(row).data, status=201)


class BundleView(ApiView):
    sign_in_for = frozenset({"GET"})

    @extend_schema(operation_id="bundle_get", responses=BundleSerializer)
    def get(self, request: Request, uuid: Any) -> Response:
        """Fetch a job bundle; for the hub's staff."""
        return Response(BundleSerializer(bundle_get(signed_in(request), str(uuid))).data)


class BundleFileView(ApiView):
    sign_in_for = frozenset({"GET"})

    @extend_schema(operation_id="bundle_file", responses={(200, _TYPE): OpenApiTypes.BINARY})
    def get(self, request: Request, uuid: Any) -> StreamingHttpResponse:
        """Download the file of a job bundle, for its device; for the hub's staff."""
        row = bundle_get(signed_in(request), str(uuid))
        response = StreamingHttpResponse(bundle_pieces(row), content_type=_TYPE)
        response["Content-Disposition"] = f'attachment; filename="{row}.bundle"'
        return response


class BundleResultsView(ApiView):
    def body_limit(self) -> int:
        return settings.MAX_BLOB_BYTES

    @extend_schema(
        operation_id="bundle_import",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses=BundleSerializer,
    )
    def put(self, request: Request, uuid: Any) -> Response:
        """Upload the results of a job bundle; for the hub's staff.

        The whole file is verified before anything changes. Repeating an upload has no effect.
        """
        actor = signed_in(request)
        bundle_get(actor, str(uuid))
        size_bytes = announced_length(request)
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".results-") as folder:
            path = Path(folder) / "results"
            with path.open("wb") as file:
                if request.stream is not None:
                    # DANGER: `request.data` and `.body` would hold the whole file in memory.
                    shutil.copyfileobj(request.stream, file)
            if path.stat().st_size != size_bytes:
                raise Invalid("size_mismatch", "The results were cut off.", "Send them again.")
            row = bundle_import(actor=actor, path=path, uuid=str(uuid))
        return Response(BundleSerializer(row).data)


class BundleCancelView(ApiView):
    @extend_schema(operation_id="bundle_cancel", request=None, responses=BundleSerializer)
    def post(self, request: Request, uuid: Any) -> Response:
        """Cancel a job bundle and queue its jobs again; for the hub's staff."""
        row = bundle_cancel(actor=signed_in(request), uuid=str(uuid))
        return Response(BundleSerializer(row).data)
