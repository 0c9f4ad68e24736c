"""Benchmark records."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import charts
from hub.pages.addresses import newest_first
from hub.pages.views import page
from registry.selectors.access import readable_records
from registry.selectors.results.record import record_get

_SAMPLES_SHOWN = 5000


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
    samples = _milliseconds(row.document)
    context = {
        "record": row,
        "document": row.document,
        "histogram": charts.histogram(samples["candidate"], samples["baseline"], "ms"),
    }
    return render(request, "record/page.html", context)


def _milliseconds(document: dict[str, Any]) -> dict[str, list[float]]:
    blocks = document["samples"]["blocks"]
    return {
        side: [ns / 1e6 for block in blocks for ns in block[f"{side}_ns"]][:_SAMPLES_SHOWN]
        for side in ("candidate", "baseline")
    }
