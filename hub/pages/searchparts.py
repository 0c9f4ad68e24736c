"""What the pages of a search share, be it of configurations or of the schedules of a workload."""

from collections.abc import Collection, Sequence

from django.http import HttpRequest

from hub.pages import chart
from registry.selectors.analysis.evidence import FailureCount

#: Texts of a kind of failure on a page.
_MOST_TEXTS = 10


def choice_of(request: HttpRequest, name: str, values: Collection[str], default: str) -> str:
    """The value of a parameter of the address, if it is one of ``values``."""
    value = request.GET.get(name, "")
    return value if value in values else default


def course_place(request: HttpRequest) -> chart.CoursePlace:
    """What the course of a search is drawn over, by the parameter ``x``."""
    is_time = request.GET.get("x") == chart.CoursePlace.TIME
    return chart.CoursePlace.TIME if is_time else chart.CoursePlace.TRIAL


def failure_rows(
    failures: Sequence[FailureCount],
) -> list[tuple[str, int, list[tuple[str, int]], int]]:
    """Rows of ``workload/failures.html``: the last column is the number of texts left out."""
    return [
        (kind, count, texts[:_MOST_TEXTS], max(0, len(texts) - _MOST_TEXTS))
        for kind, count, texts in failures
    ]
