"""Kinds of hardware and the machines behind them."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.errors import page
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
    """One target: its features, its devices, what is fastest on it."""
    found = target_selector.target_get(slug)
    context = {
        "section": "targets",
        "target": found,
        "devices": [d for d in device_selector.devices() if d.target_id == found.pk],
        "fastest": largest_gains(request.user, target=found, limit=20),
    }
    return render(request, "target/page.html", context)
