"""FAIR assessments: the page of one record, the report over the hub, and the badge."""

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_POST, require_safe

from hub.pages import chart
from hub.pages.addresses import address
from hub.pages.frame import frame, repository_page
from hub.pages.views import act, page
from registry.fair.score.badge import badge as svg_badge
from registry.fair.score.score import assess
from registry.selectors.fair.assessment import (
    history_of,
    is_assessable,
    latest,
    points_of,
)
from registry.selectors.fair.description import describe
from registry.selectors.fair.expectation import expected_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.report import hub_report
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.job import open_jobs
from registry.services.fair.assessment import assess_request
from registry.states import JobKind, Visibility
from registry.tables import Assessment, MLModel

#: Upper bound on the assessments that a page lists.
_MAX_RUNS = 100
#: Key of a card to the anchor of its field in the form that edits it.
_FORM_ANCHORS = {
    "model_name": "#id_title",
    "license": "#id_license",
    "authors": "#creators",
    "pipeline_tag": "#id_task",
    "datasets": "#id_datasets",
    "intended_use": "#id_intended_use",
}
_BADGE_LIFETIME_S = 300


@repository_page
@require_safe
def assessment(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """One version: its score, what is missing and how to fix it, and earlier scores."""
    context = frame(request, mlmodel, tab="fair")
    revision = context["revision"]
    revision.mlmodel = mlmodel
    newest = latest(revision)
    document = newest.document if newest else None
    if document is None and context["may_write"]:
        document = assess(expected_of(describe(revision))).as_dict()
    runs = list(history_of(mlmodel).defer("document")[:_MAX_RUNS])
    context |= {
        "newest": newest,
        "document": document,
        "lacking": _lacking(document["metrics"]) if document else [],
        "history": chart.history([_scored_run(row) for row in reversed(runs)]),
        "pending": open_jobs(revision).filter(kind=JobKind.ASSESS).first(),
        "is_assessable": is_assessable(revision),
        "concept_url": repository_address(mlmodel).concept,
    }
    return render(request, "assessment/page.html", context)


@repository_page
@require_POST
def assess_again(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Queue an assessment run."""
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    return act(
        request,
        f"{address(mlmodel, 'fair')}?revision={revision.oid}",
        lambda: assess_request(actor=request.user, revision=revision),
        done="The assessment will start within a minute or two.",
    )


@repository_page
@require_safe
def badge(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The score as SVG: of the requested version, or else of the newest assessed one."""
    requested = request.GET.get("revision")
    shown = latest(revision_get(mlmodel, requested))
    if shown is None and not requested:
        shown = history_of(mlmodel).first()
    data = svg_badge(points_of(shown) if shown else None)
    etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    early = get_conditional_response(request, etag=etag)
    response = early or HttpResponse(data, content_type="image/svg+xml")
    scope = "public" if mlmodel.visibility == Visibility.PUBLIC else "private"
    response.headers["Cache-Control"] = f"{scope}, max-age={_BADGE_LIFETIME_S}"
    response.headers["ETag"] = etag
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@page
@require_safe
def report(request: HttpRequest) -> HttpResponseBase:
    """Scores over all records that the user may read."""
    data = hub_report(request.user)
    context = {
        "report": data,
        "distribution": chart.distribution(data.percents),
        "lists": [
            ("Most FAIR", [(row, points_of(row)) for row in data.best]),
            ("Least FAIR", [(row, points_of(row)) for row in data.least]),
        ],
    }
    return render(request, "assessment/report.html", context)


def _lacking(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Metrics that lost points: those that the card can fix first, then by points lost."""
    lost = [
        {
            **one,
            "lost": one["of"] - one["points"],
            "missing": [
                {**why, "anchor": _FORM_ANCHORS.get(why.get("field", ""), "")}
                for why in one["missing"]
            ],
        }
        for one in metrics
        if one["missing"]
    ]
    return sorted(
        lost, key=lambda one: (not any("field" in why for why in one["missing"]), -one["lost"])
    )


def _scored_run(row: Assessment) -> chart.ScoredRun:
    points = points_of(row)
    percent = 100 * points.points / points.of if points.of else 0.0
    label = (
        f"{row.created_at:%Y-%m-%d %H:%M}: {points.points:g} of {points.of:g} points, "
        f"version {row.revision.oid[:10]}"
    )
    score = f"{points.points:g} of {points.of:g}"
    version = chart.LinkedText(row.revision.oid[:10], f"?revision={row.revision.oid}")
    return chart.ScoredRun(row.created_at, percent, label, score, version)
