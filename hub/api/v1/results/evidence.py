"""Evidence of other hubs: what they measured and signed of imported revisions."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, Strict, body_of, query_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.trust.evidence import ForeignEvidenceView, evidence_get
from registry.services.trust.evidence import evidence_put
from registry.tables import MLModel, Revision

DOCUMENT_EXAMPLE: dict[str, Any] = {
    "schema": "hpcfair.evidence/1",
    "hub": "https://hub.example.org",
    "name": "lab/galaxy-cnn",
    "revision": "89e6c98d92887913cadf06b2adb97f26cde4849b",
    "identifiers": [],
    "targets": [],
    "builds": [],
    "records": {},
    "signature": None,
    "keys": None,
}


@example({"document": DOCUMENT_EXAMPLE})
class EvidencePutSerializer(Strict):
    document = serializers.DictField(help_text="Of the schema `hpcfair.evidence/1`.")


@example(
    {
        "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
        "hub": "https://hub.example.org",
        "signed_by": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "is_trusted": True,
        "identifiers": ["ark:/99999/h2x7k4q9mpr"],
        "updated_at": "2026-01-02T03:04:05Z",
        "document": DOCUMENT_EXAMPLE,
    }
)
class EvidenceSerializer(serializers.Serializer[Any]):
    revision = serializers.CharField(source="row.revision.oid")
    hub = serializers.CharField(source="row.hub", help_text="Address of the other hub.")
    signed_by = serializers.CharField(
        source="row.signed_by",
        help_text="Id of its key that signed exactly these files; empty if none did.",
    )
    is_trusted = serializers.BooleanField(
        help_text="Whether the signatures are by keys of the other hub that this hub's operators "
        "trust."
    )
    identifiers = serializers.ListField(
        child=serializers.CharField(),
        help_text="Persistent identifiers that the other hub signed with the files.",
    )
    updated_at = serializers.DateTimeField(source="row.updated_at")
    document = serializers.DictField(
        source="row.document",
        help_text="What the other hub stated, word by word: builds, records, signatures and keys.",
    )


class EvidenceView(ApiView):
    @extend_schema(
        operation_id="model_evidence", parameters=[RevisionQuery], responses=EvidenceSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """Fetch what another hub measured and signed of an imported revision.

        Its measurements are not ranked with those of this hub.
        """
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = _revision(request, mlmodel)
        return Response(EvidenceSerializer(_view(revision)).data)

    @extend_schema(
        operation_id="model_evidence_put",
        parameters=[RevisionQuery],
        request=EvidencePutSerializer,
        responses=EvidenceSerializer,
    )
    def put(self, request: Request, namespace: str, name: str) -> Response:
        """Store the evidence of the hub that a revision was imported from.

        All signatures are verified. It replaces the evidence that the revision has.
        """
        actor, body = signed_in(request), body_of(request, EvidencePutSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        revision = _revision(request, mlmodel)
        evidence_put(actor=actor, revision=revision, document=body["document"])
        return Response(EvidenceSerializer(_view(revision)).data)


def _revision(request: Request, mlmodel: MLModel) -> Revision:
    revision = revision_get(mlmodel, query_of(request, RevisionQuery)["revision"])
    revision.mlmodel = mlmodel
    return revision


def _view(revision: Revision) -> ForeignEvidenceView:
    view = evidence_get(revision)
    view.row.revision = revision
    return view
