"""FAIR assessments of a model, and requests for assessment runs."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example, page_of
from hub.api.v1.results.graph import RevisionQuery
from hub.api.v1.work.job import JobSerializer, jobs_data
from hub.api.views import ApiView, PageQuery, Strict, body_of, paged, query_of
from registry import schemas
from registry.selectors.fair.assessment import assessment_get, history_of, points_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.fair.assessment import assess_request
from registry.tables import Assessment

PART = {"points": 2, "of": 2, "percent": 100}
DOCUMENT_EXAMPLE = {
    "schema": "hpcfair.fair/1",
    "tool": "hpcfair 1 (FAIRsFAIR 0.8)",
    "subject": "https://hub.example.org/ark:/99999/h2x7k4q9m",
    "kind": "model",
    "points": 7,
    "of": 8,
    "percent": 87,
    "principles": {
        "F": {"title": "Findable", **PART},
        "A": {"title": "Accessible", **PART},
        "I": {"title": "Interoperable", **PART},
        "R": {"title": "Reusable", "points": 1, "of": 2, "percent": 50},
    },
    "sources": {"fairsfair": {"points": 6, "of": 7, "percent": 85}, "hub": PART},
    "metrics": [
        {
            "id": "FsF-R1.1-01M",
            "source": "fairsfair",
            "principle": "R",
            "title": "A licence",
            "points": 0,
            "of": 1,
            "evidence": [],
            "missing": [
                {
                    "what": "The metadata have no licence, so nobody may use it.",
                    "how": "Write an SPDX id such as apache-2.0 under 'license'.",
                    "field": "license",
                }
            ],
        }
    ],
}
SUMMARY_EXAMPLE = {
    "uuid": "5a3e0d0e-6c39-4a4a-9d8e-0f4f8a3f7c11",
    "model": "lab/galaxy-cnn",
    "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
    "tool": "hpcfair 1 (FAIRsFAIR 0.8)",
    "points": 7.0,
    "of": 8.0,
    "percent": 87,
    "created_at": "2026-01-02T03:04:05Z",
}


@example(SUMMARY_EXAMPLE)
class AssessmentSummarySerializer(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    model = serializers.CharField(source="revision.mlmodel.full_name")
    revision = serializers.CharField(source="revision.oid")
    tool = serializers.CharField(help_text="Points of different tools are not comparable.")
    points = serializers.FloatField()
    of = serializers.FloatField(source="most", help_text="Attainable points.")
    percent = serializers.SerializerMethodField(help_text="Rounded down: 100 means all.")
    created_at = serializers.DateTimeField()

    def get_percent(self, assessment: Assessment) -> int:
        return points_of(assessment).percent


@extend_schema_field(
    {
        "type": "object",
        "description": "Of schema hpcfair.fair/1; see /api/v1/schemas/hpcfair.fair-1.json.",
    }
)
class FairDocumentField(serializers.JSONField):
    """Metric by metric."""


@example({**SUMMARY_EXAMPLE, "document": DOCUMENT_EXAMPLE})
class AssessmentSerializer(AssessmentSummarySerializer):
    document = FairDocumentField()


class AssessmentQuery(PageQuery):
    revision = serializers.CharField(
        default=None, required=False, help_text="Branch, tag or commit id; default: all."
    )


@example({"revision": None})
class AssessSerializer(Strict):
    revision = serializers.CharField(
        default=None, allow_null=True, help_text="Null for the newest; otherwise a tagged one."
    )


class AssessmentView(ApiView):
    @extend_schema(
        operation_id="model_assessment", parameters=[RevisionQuery], responses=AssessmentSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Fetch the newest FAIR assessment of a version."""
        query = query_of(request, RevisionQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        return Response(AssessmentSerializer(assessment_get(revision)).data)

    @extend_schema(
        operation_id="model_assess", request=AssessSerializer, responses={202: JobSerializer}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Queue an assessment run of a public version; it starts at most once a minute.

        If a run is already queued, its job is returned.
        """
        actor, body = signed_in(request), body_of(request, AssessSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        job = assess_request(actor=actor, revision=revision_get(mlmodel, body["revision"]))
        return Response(jobs_data([job])[0], status=202)


class AssessmentsView(ApiView):
    @extend_schema(
        operation_id="model_assessments",
        parameters=[AssessmentQuery],
        responses=page_of(AssessmentSummarySerializer),
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the assessments of a model, newest first."""
        query = query_of(request, AssessmentQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        rows = history_of(mlmodel).defer("document")
        rows = rows.select_related("revision__mlmodel__namespace")
        if query["revision"]:
            rows = rows.filter(revision=revision_get(mlmodel, query["revision"]))
        return paged(
            rows,
            AssessmentSummarySerializer,
            query,
            name=f"assessment.{mlmodel.pk}",
            order=("-created_at", "-id"),
        )


class FairSchemaView(ApiView):
    @extend_schema(
        operation_id="assessment_schema",
        responses={
            200: OpenApiResponse(
                {"type": "object"}, examples=[OpenApiExample("Schema", {"title": "hpcfair.fair/1"})]
            )
        },
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Fetch the JSON Schema of assessments."""
        return Response(schemas.fair_schema())
