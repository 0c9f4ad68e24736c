"""Benchmark records."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import chart, snippets
from hub.pages.addresses import newest_first
from hub.pages.views import page
from hub.pages.ways import is_closed
from registry.selectors.access import readable_records
from registry.selectors.results.confirmation import confirmations_of
from registry.selectors.results.record import record_get
from registry.selectors.results.repetition import repetitions_of


@page
def records(request: HttpRequest) -> HttpResponseBase:
    """All readable records, newest first."""
    shown, older = newest_first(
        readable_records(request.user).select_related("revision__mlmodel__namespace", "target"),
        request,
        order=("-created_at", "-id"),
    )
    return render(request, "record/list.html", {"records": shown, "older": older})


@page
def record(request: HttpRequest, record_id: str) -> HttpResponseBase:
    """A record: figures, samples, protocol, machine."""
    row = record_get(request.user, record_id)
    context = {
        "record": row,
        "document": row.document,
        "builds": list(row.builds.all()),
        "confirmations": confirmations_of([row]).get(row.pk, ()),
        "repetitions": repetitions_of(request.user, row),
        "histogram": chart.histogram(*_samples_ns(row.document)),
        "measure_again": snippets.measure_again(
            settings.HUB_URL,
            row.id,
            runtime=row.document["config"]["backend"],
            sign_in=is_closed(row.revision.mlmodel),
        ),
    }
    return render(request, "record/page.html", context)


def _samples_ns(document: dict[str, Any]) -> tuple[list[float], list[float]]:
    """All samples of the build and of the default."""
    blocks = document["samples"]["blocks"]
    build, default = (
        [ns for block in blocks for ns in block[f"{side}_ns"]] for side in ("candidate", "baseline")
    )
    return build, default
