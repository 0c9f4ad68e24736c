"""Findings in a model's card."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.results.graph import RevisionQuery
from hub.api.views import ApiView, query_of
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get

FINDING_EXAMPLE = {
    "line": 7,
    "field": "authors[0].orcid",
    "code": "orcid_invalid",
    "message": "The check digit of the ORCID iD 0000-0002-1825-0098 is wrong.",
    "fix": "If the other digits are correct, the iD is 0000-0002-1825-0097.",
    "severity": "error",
}
SEVERITIES = [("error", "The value is omitted from the record."), ("warning", "The value is used.")]


@example(FINDING_EXAMPLE)
class FindingSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="Line of README.md, from 1.")
    field = serializers.CharField(
        help_text="Path of the value in the card, such as `authors[0].orcid`; `README.md` for the "
        "text."
    )
    code = serializers.CharField(help_text="Stable identifier.")
    message = serializers.CharField(help_text="The fault.")
    fix = serializers.CharField(help_text="The correction.")
    severity = serializers.ChoiceField(SEVERITIES)


@example({"revision": "3f786850e387550fdab836ed7e6dc881de23001b", "items": [FINDING_EXAMPLE]})
class FindingsSerializer(serializers.Serializer[Any]):
    revision = serializers.CharField(help_text="Commit id of the revision.")
    items = FindingSerializer(many=True)


class FindingsView(ApiView):
    @extend_schema(
        operation_id="model_findings", parameters=[RevisionQuery], responses=FindingsSerializer
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the faults in a revision's README.md, by line.

        Findings do not prevent a model from being loaded: a faulty value is omitted from the
        record. The card is also compared with the files.
        """
        query = query_of(request, RevisionQuery)
        mlmodel = mlmodel_get(request.user, f"{namespace}/{name}")
        revision = revision_get(mlmodel, query["revision"])
        shape = {"revision": revision.oid, "items": findings_of(revision)}
        return Response(FindingsSerializer(shape).data)
