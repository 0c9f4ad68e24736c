"""How FAIR records were found from outside: one record, all of them, and a badge."""

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_POST, require_safe

from hub.pages import scorecharts
from hub.pages.addresses import address
from hub.pages.errors import act, page
from hub.pages.frame import frame, repository_page
from registry.fair.score import score
from registry.selectors.fair.assessment import (
    history_of,
    hub_report,
    is_assessable,
    latest,
    points_of,
)
from registry.selectors.fair.description import describe
from registry.selectors.fair.expectation import expected_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.job import open_jobs
from registry.services.fair.assessment import assess_request
from registry.states import JobKind, Visibility
from registry.tables import Assessment, MLModel

_LOOKS = 100
#: Key of a card to the place of the form that fills it.
_PLACES = {
    "model_name": "#id_title",
    "license": "#id_license",
    "authors": "#creators",
    "pipeline_tag": "#id_task",
    "datasets": "#id_datasets",
    "intended_use": "#id_intended_use",
}
# A page that shows it is seldom newer than that.
_BADGE_LIFETIME_S = 300


@repository_page
@require_safe
def assessment(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """One version: its points, what is missing and how to mend it, and how that changed."""
    context = frame(request, mlmodel, tab="fair")
    revision = context["revision"]
    revision.mlmodel = mlmodel
    found = latest(revision)
    document = found.document if found else None
    if document is None and context["may_write"]:
        document = score.assess(expected_of(describe(revision))).as_dict()
    looks = list(history_of(mlmodel).defer("document")[:_LOOKS])
    context |= {
        "found": found,
        "document": document,
        "lacking": _lacking(document["metrics"]) if document else [],
        "looks": [(row, points_of(row)) for row in looks],
        "course": scorecharts.course([_look(row) for row in reversed(looks)]),
        "pending": open_jobs(revision).filter(kind=JobKind.ASSESS).first(),
        "is_assessable": is_assessable(revision),
        "concept_url": repository_address(mlmodel).concept,
    }
    return render(request, "assessment/page.html", context)


@repository_page
@require_POST
def look(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Ask for a look now."""
    revision = revision_get(mlmodel, request.POST.get("revision") or None)
    return act(
        request,
        f"{address(mlmodel, 'fair')}?revision={revision.oid}",
        lambda: assess_request(actor=request.user, revision=revision),
        done="The hub will look at it within a minute or two.",
    )


@repository_page
@require_safe
def badge(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The points as a picture: of the version asked for, or the newest that was looked at."""
    asked = request.GET.get("revision")
    found = latest(revision_get(mlmodel, asked))
    if found is None and not asked:
        found = history_of(mlmodel).first()
    data = score.badge(points_of(found) if found else None)
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
    """All records of the hub that the asker may read."""
    found = hub_report(request.user)
    context = {
        "report": found,
        "chart": scorecharts.distribution(found.percents),
        "lists": [
            ("Most FAIR", [(row, points_of(row)) for row in found.best]),
            ("Least FAIR", [(row, points_of(row)) for row in found.least]),
        ],
    }
    return render(request, "assessment/report.html", context)


def _lacking(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Metrics that lost points, those first that the card can mend, then what costs most."""
    lost = [
        {
            **one,
            "lost": one["of"] - one["points"],
            "missing": [
                {**why, "place": _PLACES.get(why.get("field", ""), "")} for why in one["missing"]
            ],
        }
        for one in metrics
        if one["missing"]
    ]
    return sorted(
        lost,
        key=lambda one: (not any("field" in why for why in one["missing"]), -one["lost"]),
    )


def _look(row: Assessment) -> scorecharts.Look:
    part = points_of(row)
    share = 100 * part.points / part.of if part.of else 0.0
    label = (
        f"{row.created_at:%Y-%m-%d %H:%M}: {part.points:g} of {part.of:g} points, "
        f"version {row.revision.oid[:10]}"
    )
    return scorecharts.Look(row.created_at, share, label)
