"""Imported profiles: measurements of others, matched to a network of the hub."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.v1.results.graph import RevisionQuery
from hub.api.v1.results.profile import CoverageSerializer, NodeLinkSerializer
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry.profilefiles.formats import FORMATS
from registry.selectors.analysis.importedprofile import (
    imported_calls,
    imported_profile_get,
    imported_profiles_of,
    imported_totals,
)
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.analysis.importedprofile import profile_delete, profile_import
from registry.tables import ImportedProfile

_SHA256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
_FORMATS = [(one.name, one.title) for one in FORMATS.values()]
IMPORTED_EXAMPLE = {
    "uuid": "0d8f9a34-52f6-4a7b-9d5e-6f5a3b1c2d10",
    "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
    "path": "model.onnx",
    "actor": "alice",
    "format": "tensorrt",
    "tool_version": "10.12",
    "target": "NVIDIA H100 80GB",
    "environment": "driver 580.65, clocks locked at 1410 MHz, batch 1",
    "method": "trtexec --exportProfile, medians of 200 iterations",
    "total_ns": 812_000,
    "is_total_stated": False,
    "notes": ["Layers are synchronised with the host when they are profiled."],
    "file": _SHA256,
    "created_at": "2026-01-02T03:04:05Z",
}
_TOTALS_EXAMPLE = {
    "sum_ns": 812_000,
    "unlinked_ns": 12_000,
    "linked": 20,
    "count": 21,
    "coverage": {"nodes": 49, "exact": 20, "inferred": 28, "shared": 1, "folded": 0},
}
_CALL_EXAMPLE = {
    "sequence": 0,
    "name": "conv1 + relu1",
    "operator": "CaskConvolution",
    "median_ns": 52_000,
    "mad_ns": 0,
    "runs": 200,
    "precision": "float16",
    "implementation": "sm90_xmma_fprop_implicit_gemm_f16",
    "nodes": [{"index": 0, "grade": "exact"}],
    "reason": "",
}


@example(
    {
        "sha256": _SHA256,
        "target": "NVIDIA H100 80GB",
        "format": "tensorrt",
        "details_sha256": "",
        "tool_version": "10.12",
        "environment": "driver 580.65, batch 1",
    }
)
class ProfileImportSerializer(Strict):
    sha256 = serializers.CharField(
        max_length=64, help_text="SHA-256 of the file, uploaded to `/api/v1/blobs/{sha256}`."
    )
    target = serializers.CharField(
        max_length=200, help_text="The machine, as a target of the hub or in words."
    )
    format = serializers.ChoiceField(
        _FORMATS, default="", allow_blank=True, help_text="Empty: recognised by its content."
    )
    details_sha256 = serializers.CharField(
        max_length=64,
        default="",
        allow_blank=True,
        help_text="SHA-256 of the second file: `trtexec --exportLayerInfo`.",
    )
    tool_version = serializers.CharField(max_length=100, default="", allow_blank=True)
    environment = serializers.CharField(
        max_length=2000, default="", allow_blank=True, help_text="Driver, clocks, threads, batch."
    )


@example(IMPORTED_EXAMPLE)
class ImportedProfileSerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    revision = serializers.CharField(source="graph.revision.oid")
    path = serializers.CharField(source="graph.path", help_text="The network in this revision.")
    actor = serializers.CharField(
        source="actor.username", default=None, allow_null=True, help_text="Who measured it."
    )
    format = serializers.ChoiceField(_FORMATS)
    tool_version = serializers.CharField()
    target = serializers.CharField()
    environment = serializers.CharField()
    method = serializers.CharField()
    total_ns = serializers.IntegerField()
    is_total_stated = serializers.BooleanField(
        help_text="Whether the file states the time of a run; otherwise it is the sum of the calls."
    )
    notes = serializers.ListField(child=serializers.CharField())
    file = serializers.CharField(source="blob_id", help_text="SHA-256 of the file.")
    created_at = serializers.DateTimeField()


@example({**IMPORTED_EXAMPLE, "totals": _TOTALS_EXAMPLE, "fit": {"calls": 20, "linked": 20}})
class ImportedProfileDetailsSerializer(ImportedProfileSerializer):
    totals = serializers.SerializerMethodField()
    fit = serializers.DictField(
        child=serializers.IntegerField(), help_text="Counts of what was matched, before filling in."
    )

    class _Totals(serializers.Serializer[Any]):
        sum_ns = serializers.IntegerField()
        unlinked_ns = serializers.IntegerField(help_text="Time of calls without a link.")
        linked = serializers.IntegerField()
        count = serializers.IntegerField()
        coverage = CoverageSerializer()

    def get_totals(self, row: ImportedProfile) -> dict[str, Any]:
        return dict(self._Totals(imported_totals(row, list(imported_calls(row)))).data)


@example(_CALL_EXAMPLE)
class ImportedCallSerializer(serializers.Serializer[Any]):
    sequence = serializers.IntegerField(help_text="Position in the file, from 0.")
    name = serializers.CharField()
    operator = serializers.CharField(help_text="The tool's name; empty if the file has none.")
    median_ns = serializers.IntegerField()
    mad_ns = serializers.IntegerField(help_text="Median absolute deviation; 0 if unknown.")
    runs = serializers.IntegerField()
    precision = serializers.CharField()
    implementation = serializers.CharField()
    nodes = NodeLinkSerializer(many=True)
    reason = serializers.CharField(help_text="Reason for a missing link.")


class ModelProfilesView(ApiView):
    @extend_schema(
        operation_id="model_profiles",
        parameters=[PageQuery],
        responses=page_of(ImportedProfileSerializer),
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the imported profiles of a model, newest first.

        They were measured by others, not by this hub, and are never ranked with its measurements.
        """
        query = query_of(request, PageQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        rows = imported_profiles_of(request.user, mlmodel)
        return paged(rows, ImportedProfileSerializer, query, name=f"profile.{mlmodel.pk}")

    @extend_schema(
        operation_id="model_profile_import",
        parameters=[RevisionQuery],
        request=ProfileImportSerializer,
        responses={201: ImportedProfileDetailsSerializer},
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Import a profile that another tool wrote.

        It is matched to the network of the revision. Profiles of other networks, and times that
        cannot be true, are refused with their figures.
        """
        query = query_of(request, RevisionQuery)
        values = body_of(request, ProfileImportSerializer)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        revision.mlmodel = mlmodel
        format_name = values.pop("format")
        row = profile_import(
            actor=request.user, revision=revision, format_name=format_name, **values
        )
        return Response(ImportedProfileDetailsSerializer(row).data, status=201)


class ImportedProfileView(ApiView):
    @extend_schema(operation_id="profile_get", responses=ImportedProfileDetailsSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch an imported profile: totals and coverage."""
        row = imported_profile_get(request.user, str(uuid))
        return Response(ImportedProfileDetailsSerializer(row).data)

    @extend_schema(operation_id="profile_delete", responses={204: None})
    def delete(self, request: Request, uuid: UUID) -> Response:
        """Delete an imported profile; for the person who imported it, and for admins."""
        row = imported_profile_get(request.user, str(uuid))
        profile_delete(actor=request.user, profile=row)
        return Response(status=204)


class ImportedCallsView(ApiView):
    @extend_schema(
        operation_id="profile_calls",
        parameters=[PageQuery],
        responses=page_of(ImportedCallSerializer),
    )
    def get(self, request: Request, uuid: UUID) -> Response:
        """List the calls of an imported profile in order, with the nodes they compute."""
        query = query_of(request, PageQuery)
        rows = imported_calls(imported_profile_get(request.user, str(uuid)))
        order = ("sequence",)
        return paged(rows, ImportedCallSerializer, query, name=f"profile-call.{uuid}", order=order)
