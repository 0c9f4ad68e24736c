"""Benchmark records."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import charts
from hub.pages.addresses import newest_first
from hub.pages.errors import page
from registry.selectors.access import readable_records
from registry.selectors.results.record import record_get

_SAMPLES_SHOWN = 5000


@page
def records(request: HttpRequest) -> HttpResponseBase:
    """Newest first."""
    shown, older = newest_first(
        readable_records(request.user).select_related("revision__mlmodel__namespace", "target"),
        request,
        by="created_at",
    )
    return render(request, "record/list.html", {"records": shown, "older": older})


@page
def record(request: HttpRequest, record_id: str) -> HttpResponseBase:
    """One record: figures, samples, protocol, machine."""
    found = record_get(request.user, record_id)
    samples = _milliseconds(found.document)
    context = {
        "record": found,
        "document": found.document,
        "histogram": charts.histogram(samples["candidate"], samples["baseline"], "ms"),
    }
    return render(request, "record/page.html", context)


def _milliseconds(document: dict[str, Any]) -> dict[str, list[float]]:
    blocks = document["samples"]["blocks"]
    return {
        side: [ns / 1e6 for block in blocks for ns in block[f"{side}_ns"]][:_SAMPLES_SHOWN]
        for side in ("candidate", "baseline")
    }
