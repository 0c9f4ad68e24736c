"""Benchmark records: immutable documents of schema ``hpcfair.bench/1``."""

import json
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.views import ApiView, PageQuery, plain_request, query_of
from hub.files import caching
from registry import schemas
from registry.pagination import keyset_page
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.record import record_get, records_of
from registry.services.results.record import record_add
from registry.tables import Record

EXAMPLE = json.loads((Path(schemas.__file__).parent / "examples/squeezenet.json").read_bytes())
DOCUMENT = {
    "type": "object",
    "description": "A record of schema hpcfair.bench/1; see /api/v1/schemas/hpcfair.bench-1.json.",
}
EXAMPLE_RESPONSE = OpenApiExample("Record", EXAMPLE, media_type="application/json")
RECORD_RESPONSE = OpenApiResponse(DOCUMENT, examples=[EXAMPLE_RESPONSE])
ORDER = ("-created_at", "-id")


@extend_schema_field(DOCUMENT)
class DocumentField(serializers.JSONField):
    """A record document."""


@example({"items": [EXAMPLE], "next": None})
class RecordPageSerializer(serializers.Serializer[Any]):
    items = serializers.ListField(child=DocumentField())
    next = serializers.CharField(
        allow_null=True, help_text="The `cursor` of the next page; null on the last."
    )


class ModelRecordQuery(PageQuery):
    revision = serializers.CharField(
        default=None, required=False, help_text="Branch, tag or commit id; default: all."
    )
    target = serializers.CharField(default=None, required=False, help_text="Name of a target.")


class RecordQuery(PageQuery):
    model = serializers.CharField(default=None, required=False, help_text="`namespace/name`.")
    target = serializers.CharField(default=None, required=False, help_text="Name of a target.")


def records_page(rows: QuerySet[Record], query: dict[str, Any]) -> Response:
    """A page of record documents."""
    page = keyset_page(
        rows, name="record", cursor=query["cursor"], limit=query["limit"], order=ORDER
    )
    return Response({"items": [record.document for record in page.items], "next": page.next})


class RecordsView(ApiView):
    @extend_schema(
        operation_id="record_list", parameters=[RecordQuery], responses=RecordPageSerializer
    )
    def get(self, request: Request) -> Response:
        """List records of the models you may read, newest first."""
        query = query_of(request, RecordQuery)
        rows = records_of(request.user, mlmodel=query["model"], target=query["target"])
        return records_page(rows, query)

    @extend_schema(
        operation_id="record_add",
        request={"application/json": DOCUMENT},
        responses={201: RECORD_RESPONSE},
        examples=[EXAMPLE_RESPONSE],
    )
    def post(self, request: Request) -> Response:
        """Add a reproduction: a record of your own run of a measurement recorded here.

        The document must be valid and consistent. Adding the same document again has no effect.
        """
        actor = signed_in(request)
        if not isinstance(request.data, dict):
            raise ParseError("A record is a JSON object.")
        return Response(record_add(actor=actor, document=request.data).document, status=201)


class RecordView(ApiView):
    @extend_schema(
        operation_id="record_get",
        parameters=[
            OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="An ETag.")
        ],
        responses={200: RECORD_RESPONSE, 304: OpenApiResponse(description="The ETag matches.")},
    )
    def get(self, request: Request, record: str) -> HttpResponseBase:
        """Fetch a record. It is immutable: its id is the SHA-256 of its canonical form."""
        row = record_get(request.user, record)
        etag = f'"{row.pk}"'
        response = get_conditional_response(plain_request(request), etag=etag)
        if response is None:
            response = Response(row.document)
        response.headers["ETag"] = etag
        response.headers["Cache-Control"] = caching(row.revision.mlmodel, fixed=True)
        return response


class ModelRecordsView(ApiView):
    @extend_schema(
        operation_id="model_records", parameters=[ModelRecordQuery], responses=RecordPageSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List a model's records, newest first."""
        query = query_of(request, ModelRecordQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        oid = revision_get(mlmodel, query["revision"]).oid if query["revision"] else None
        rows = records_of(
            request.user, mlmodel=mlmodel.full_name, revision_oid=oid, target=query["target"]
        )
        return records_page(rows, query)


class BenchSchemaView(ApiView):
    @extend_schema(
        operation_id="record_schema",
        responses={
            200: OpenApiResponse(
                {"type": "object"},
                examples=[OpenApiExample("Schema", {"title": "hpcfair.bench/1"})],
            )
        },
    )
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Fetch the JSON Schema of records."""
        return Response(schemas.bench_schema())
