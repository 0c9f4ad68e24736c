"""Targets and their devices."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.cards import ANY_TOLERANCE
from hub.pages.views import page
from registry.selectors.results.best import largest_gains
from registry.selectors.work import device as device_selector
from registry.selectors.work import target as target_selector


@page
def targets(request: HttpRequest) -> HttpResponseBase:
    """All targets with their devices."""
    devices = list(device_selector.devices())
    listed = [
        {"target": target, "devices": [d for d in devices if d.target_id == target.pk]}
        for target in target_selector.targets()
    ]
    return render(request, "target/list.html", {"section": "targets", "listed": listed})


@page
def target(request: HttpRequest, slug: str) -> HttpResponseBase:
    """A target: features, devices, largest gains."""
    row = target_selector.target_get(slug)
    context = {
        "section": "targets",
        "target": row,
        "devices": [d for d in device_selector.devices() if d.target_id == row.pk],
        "fastest": largest_gains(request.user, target=row, tolerance=ANY_TOLERANCE, limit=20),
    }
    return render(request, "target/page.html", context)
