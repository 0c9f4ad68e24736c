"""The FAIR report over the whole hub."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.v1.fair.assessment import PART, SUMMARY_EXAMPLE, AssessmentSummarySerializer
from hub.api.views import ApiView
from registry.selectors.fair.report import Report, hub_report


@example({"title": "Findable", **PART})
class PrincipleSerializer(serializers.Serializer[Any]):
    title = serializers.CharField()
    points = serializers.FloatField()
    of = serializers.FloatField()
    percent = serializers.IntegerField()


_GAP = {
    "id": "HUB-R-05",
    "title": "Purpose and limitations",
    "principle": "R",
    "records": 3,
    "points": 2.5,
}


@example(_GAP)
class GapSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    title = serializers.CharField()
    principle = serializers.CharField()
    records = serializers.IntegerField(help_text="Number of records read that lose points for it.")
    points = serializers.FloatField(help_text="Sum of the points lost.")


@example(
    {
        "records": 1,
        "mean": 87.0,
        "percents": {"87": 1},
        "read": 1,
        "principles": {"F": {"title": "Findable", **PART}},
        "gaps": [_GAP],
        "best": [SUMMARY_EXAMPLE],
        "least": [SUMMARY_EXAMPLE],
    }
)
class ReportSerializer(serializers.Serializer[Any]):
    records = serializers.IntegerField(help_text="Number of assessed models and data sets.")
    mean = serializers.FloatField(allow_null=True, help_text="Mean percentage.")
    percents = serializers.DictField(
        child=serializers.IntegerField(), help_text="Percentage to number of records."
    )
    read = serializers.IntegerField(help_text="Number of records behind `principles` and `gaps`.")
    principles = serializers.DictField(child=PrincipleSerializer())
    gaps = GapSerializer(many=True, help_text="Metrics with most points lost, worst first.")
    best = AssessmentSummarySerializer(many=True)
    least = AssessmentSummarySerializer(many=True)


class ReportView(ApiView):
    @extend_schema(operation_id="fair_report", responses=ReportSerializer)
    def get(self, request: Request) -> Response:
        """Fetch the FAIR report over everything you may read: the newest version of each."""
        return Response(ReportSerializer(_report(hub_report(request.user))).data)


def _report(report: Report) -> dict[str, Any]:
    return {
        "records": report.records,
        "mean": report.mean,
        "percents": {str(at): count for at, count in enumerate(report.percents) if count},
        "read": report.read,
        "principles": {
            letter: {"title": title, "points": part.points, "of": part.of, "percent": part.percent}
            for letter, (title, part) in report.principles.items()
        },
        "gaps": report.gaps,
        "best": report.best,
        "least": report.least,
    }
