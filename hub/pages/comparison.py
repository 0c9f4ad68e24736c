"""Builds compared over models, targets, backends and tolerance classes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from hub.pages.comparisonchart import group_bars, target_charts
from hub.pages.download import csv_download
from hub.pages.figuretext import figure_text
from hub.pages.rooflinepanel import RooflinePanel, roofline_panel
from hub.pages.views import page
from registry.errors import Invalid
from registry.selectors.analysis.comparison import MOST_SHOWN, ComparisonQuery
from registry.selectors.analysis.comparisondocument import (
    build_rows,
    comparison_document,
    group_rows,
)
from registry.selectors.analysis.comparisonview import (
    ComparisonContents,
    columns_of,
    comparison_view,
)
from registry.selectors.analysis.groupdelta import GroupTable
from registry.selectors.analysis.measuredbuild import (
    COSTS,
    METRICS,
    WORTHS,
    Measure,
    MeasuredBuild,
    differences,
)
from registry.selectors.work.target import targets
from registry.states import ToleranceClass

#: Rows of the table of groups on the page; downloads have all.
_MOST_GROUPS = 25
_MOST_ROOFLINES = 2
_LISTS = ("build", "model", "target", "backend", "tolerance")


@dataclass(frozen=True, slots=True)
class ShownBuild:
    """A row of the table of builds.

    Attributes:
        figures: Text of each metric.
        conditions: Those in which the compared builds differ.
        remove: Query of this page without the build; "" if it was not named.
    """

    measured: MeasuredBuild
    figures: list[str]
    conditions: list[str]
    remove: str


@page
def compare(request: HttpRequest) -> HttpResponseBase:
    """The comparison that the address describes, as a page or, by ``format``, as JSON or CSV."""
    query = query_of(request)
    cost = _metric(request, "x", COSTS)
    worth = _metric(request, "y", WORTHS)
    view = comparison_view(request.user, query, cost=cost)
    match request.GET.get("format"):
        case "json":
            return _json(request, view)
        case "csv":
            return _csv(request, view)
    return render(request, "comparison/page.html", _context(request, view, cost, worth))


def query_of(request: HttpRequest) -> ComparisonQuery:
    """The query in the parameters of an address; values may also be separated by commas.

    Raises ``Invalid``: ``invalid_request``.
    """
    lists = {name: _texts(request.GET.getlist(name)) for name in _LISTS}
    latency_ms = _number(request, "latency_ms")
    return ComparisonQuery(
        builds=lists["build"],
        models=lists["model"],
        targets=lists["target"],
        backends=lists["backend"],
        tolerances=lists["tolerance"],
        accuracy=_number(request, "accuracy"),
        latency_ns=None if latency_ms is None else latency_ms * 1e6,
    )


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    parts = (part.strip() for value in values for part in value.replace("\n", ",").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _number(request: HttpRequest, name: str) -> float | None:
    text = request.GET.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    # Comparisons with NaN are false.
    if not 0 <= value < 1e12:
        raise Invalid(
            "invalid_request",
            f"{name} is {text[:50]!r}, not a number from 0.",
            "Write an accuracy as a share, such as 0.98, and a latency in milliseconds.",
            fields={name: "is not a number from 0"},
        )
    return value


def _metric(request: HttpRequest, name: str, among: tuple[str, ...]) -> str:
    chosen = request.GET.get(name) or among[0]
    if chosen not in among:
        raise Invalid(
            "invalid_request",
            f"{name} is {chosen[:50]!r}.",
            f"Use one of {', '.join(among)}.",
            fields={name: f"must be one of {', '.join(among)}"},
        )
    return chosen


def _context(
    request: HttpRequest, view: ComparisonContents, cost: str, worth: str
) -> dict[str, Any]:
    comparison, query = view.comparison, view.comparison.query
    unlike = differences(comparison.builds)
    metrics = [
        metric
        for name, metric in METRICS.items()
        if any(each.figures[name] is not None for each in comparison.builds)
    ]
    groups = view.groups.groups[:_MOST_GROUPS]
    return {
        "question": query,
        "models_text": ", ".join(query.models),
        "latency_ms": request.GET.get("latency_ms", ""),
        "comparison": comparison,
        "is_cut": comparison.total > len(comparison.builds),
        "most": MOST_SHOWN,
        "metrics": metrics,
        "unmeasured": [metric.title for metric in METRICS.values() if metric not in metrics],
        "conditions": list(unlike),
        "unlike": unlike,
        "shown": [_shown(request, each, metrics, list(unlike)) for each in comparison.builds],
        "charts": target_charts(comparison.builds, METRICS[cost], METRICS[worth]),
        "matrix": view.matrix,
        "answer": view.answer,
        "answer_cost": METRICS[cost].title,
        "cheapest_cost": _cheapest(view, cost),
        "groups": view.groups,
        "group_rows": [(one, group_bars(one, groups)) for one in groups],
        "winner": _winner(view.groups),
        "rooflines": _rooflines(request, view),
        "costs": [METRICS[name] for name in COSTS],
        "worths": [METRICS[name] for name in WORTHS],
        "cost": cost,
        "worth": worth,
        "all_targets": [target.slug for target in targets()],
        "all_backends": sorted({each.backend for each in comparison.builds} | {*query.backends}),
        "all_tolerances": ToleranceClass.values,
        "permalink": _permalink(request),
        "address": request.GET.urlencode(),
    }


def _rooflines(request: HttpRequest, view: ComparisonContents) -> list[RooflinePanel]:
    """The rooflines of the builds whose groups are compared, fastest first; at most two."""
    builds = sorted(columns_of(view.comparison), key=lambda one: one.build.p50_ns)
    shown = [each.build for each in builds if each.has_profile][:_MOST_ROOFLINES]
    return [
        roofline_panel(request.user, build, name=f"roofline-{number}")
        for number, build in enumerate(shown)
    ]


def _winner(groups: GroupTable) -> tuple[MeasuredBuild, int] | None:
    """The build that is fastest in most groups, and their number."""
    if not groups.groups:
        return None
    most = max(groups.wins)
    return groups.builds[groups.wins.index(most)], most


def _cheapest(view: ComparisonContents, cost: str) -> str:
    best = view.answer.cheapest if view.answer else None
    return figure_text(METRICS[cost], best.figures[cost]) if best else ""


def _shown(
    request: HttpRequest, each: MeasuredBuild, metrics: Sequence[Measure], unlike: list[str]
) -> ShownBuild:
    left = request.GET.copy()
    uuid = str(each.build.uuid)
    named = [text for text in _texts(left.getlist("build")) if text.lower() != uuid]
    is_named = len(named) < len(_texts(left.getlist("build")))
    left.setlist("build", named)
    return ShownBuild(
        each,
        [figure_text(metric, each.figures[metric.name]) for metric in metrics],
        [each.conditions.get(name, "unknown") for name in unlike],
        left.urlencode() if is_named else "",
    )


def _permalink(request: HttpRequest) -> str:
    pairs = [(name, value) for name, values in request.GET.lists() for value in values if value]
    parameters = [(name, value) for name, value in pairs if name != "format"]
    return f"{settings.HUB_URL}{request.path}?{urlencode(parameters)}"


def _json(request: HttpRequest, view: ComparisonContents) -> HttpResponse:
    document = comparison_document(view.comparison, view.matrix, view.groups, view.answer)
    return JsonResponse({"permalink": _permalink(request), **document})


def _csv(request: HttpRequest, view: ComparisonContents) -> HttpResponse:
    is_groups = request.GET.get("table") == "groups"
    rows = group_rows(view.groups) if is_groups else build_rows(view.comparison)
    name = "groups" if is_groups else "builds"
    answer = csv_download(f"comparison-{name}.csv", rows)
    answer["Link"] = f'<{_permalink(request)}>; rel="describedby"'
    return answer
