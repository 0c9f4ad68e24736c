"""Principles: what fast schedules of an operator share, with the evidence."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, Strict, paged, query_of
from registry.selectors.analysis.principle import (
    principle_get,
    principles,
    version_get,
    visible_evidence,
    visible_query,
)
from registry.tables import PrincipleStatus

_IDENTIFIER = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
_STATEMENT = {
    "anchor": "conv2d_nhwc",
    "trait": {"kind": "inner_multiple", "loop": "spatial-1", "value": 16},
    "is_wanted": True,
}
PRINCIPLE_EXAMPLE: dict[str, Any] = {
    "identifier": _IDENTIFIER,
    "words": "Fast schedules of conv2d_nhwc: the innermost loop over the output channels runs a "
    "multiple of 16 times",
    "anchor": "conv2d_nhwc",
    "status": "published",
    "published_at": "2026-01-02T03:04:05Z",
    "changed_at": "2026-01-02T03:04:05Z",
}
_DETAIL: dict[str, Any] = PRINCIPLE_EXAMPLE | {
    "statement": _STATEMENT,
    "method": {"q": 0.05, "least_workloads": 3, "least_ablations": 2},
    "version": 2,
    "versions": [1, 2],
    "computed_at": "2026-01-02T03:04:05Z",
    "digest": "b" * 64,
    "query": {"anchor": "conv2d_nhwc", "workloads": [], "ablations": []},
    "evidence": {
        "workloads": [], "ablations": [], "effect": None, "missing": [], "withheld": 0,
        "support": {"workloads": 3, "targets": 1, "trials": 600, "ablations": 2},
        "against": {"workloads": 0, "targets": 0, "trials": 0, "ablations": 0},
    },
}  # fmt: skip


@example(PRINCIPLE_EXAMPLE)
class SchedulePrincipleSerializer(serializers.Serializer[Any]):
    identifier = serializers.CharField(help_text="SHA-256 of the statement and the method.")
    words = serializers.CharField()
    anchor = serializers.CharField(help_text="The operator, without shapes.")
    status = serializers.ChoiceField(PrincipleStatus.choices)
    published_at = serializers.DateTimeField(allow_null=True)
    changed_at = serializers.DateTimeField(help_text="Time of the newest change of the status.")


@example(_DETAIL)
class SchedulePrincipleDetailSerializer(SchedulePrincipleSerializer):
    statement = serializers.DictField(
        help_text="`anchor`, `trait` (see `hpcfair.traits`), and whether it `is_wanted`."
    )
    method = serializers.DictField(help_text="Tests and thresholds.")
    version = serializers.IntegerField()
    versions = serializers.ListField(child=serializers.IntegerField())
    computed_at = serializers.DateTimeField()
    digest = serializers.CharField(help_text="SHA-256 of the canonical JSON of the whole query.")
    query = serializers.DictField(
        help_text="The trials and ablations that are examined: of each workload those until a "
        "time, their number, and the SHA-256 of their ids, one per line."
    )
    evidence = serializers.DictField(
        help_text="For and against: associations by workload, ablations, counts; `withheld` counts "
        "workloads that are not public any more."
    )


class PrincipleListQuery(PageQuery):
    status = serializers.ChoiceField(PrincipleStatus.choices, default=None, required=False)
    anchor = serializers.CharField(default=None, required=False, max_length=64)


class PrincipleQuery(Strict):
    version = serializers.IntegerField(
        default=None, required=False, min_value=1, max_value=2**31 - 1
    )


class PrinciplesView(ApiView):
    @extend_schema(
        operation_id="principle_list",
        parameters=[PrincipleListQuery],
        responses=page_of(SchedulePrincipleSerializer),
    )
    def get(self, request: Request) -> Response:
        """List principles, also those that are only examined."""
        query = query_of(request, PrincipleListQuery)
        rows = principles(status=query["status"], anchor=query["anchor"])
        order = ("anchor", "words", "id")
        return paged(rows, SchedulePrincipleSerializer, query, name="principle", order=order)


class PrincipleView(ApiView):
    @extend_schema(
        operation_id="principle_get",
        parameters=[PrincipleQuery],
        responses=SchedulePrincipleDetailSerializer,
    )
    def get(self, request: Request, identifier: str) -> Response:
        """Fetch a principle with the query and the evidence of a version, by default the newest."""
        query = query_of(request, PrincipleQuery)
        principle = principle_get(identifier)
        version = version_get(principle, query["version"])
        numbers = principle.versions.order_by("number").values_list("number", flat=True)
        shape = SchedulePrincipleSerializer(principle).data | {
            "statement": principle.statement,
            "method": principle.method,
            "version": version.number,
            "versions": list(numbers),
            "computed_at": version.computed_at,
            "digest": version.digest,
            "query": visible_query(version),
            "evidence": visible_evidence(version),
        }
        return Response(SchedulePrincipleDetailSerializer(shape).data)
