"""Targets and their devices."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import chart
from hub.pages.addresses import newest_first
from hub.pages.cards import ANY_TOLERANCE
from hub.pages.views import page
from registry.scenarios import Scenario
from registry.selectors.analysis.roof import roofs_of_target
from registry.selectors.results.best import largest_gains
from registry.selectors.work import device as device_selector
from registry.selectors.work import target as target_selector
from registry.selectors.work.fleet import counts_by_target, devices_in, queue_of, work_of
from registry.selectors.work.jobattempt import utilisation
from registry.services.work.device import device_check
from registry.tables import Build, Target

#: Builds in a list of the largest gains.
_GAINS = 20


@page
def targets(request: HttpRequest) -> HttpResponseBase:
    """All targets with their devices."""
    device_check()
    devices = list(device_selector.devices())
    listed = [
        {"target": target, "devices": [d for d in devices if d.target_id == target.pk]}
        for target in target_selector.targets()
    ]
    return render(request, "target/list.html", {"section": "targets", "listed": listed})


@page
def target(request: HttpRequest, slug: str) -> HttpResponseBase:
    """A target: features, devices with their jobs, queue, utilisation, largest gains in latency and
    in throughput."""
    row = target_selector.target_get(slug)
    device_check()
    shown, more = newest_first(devices_in(target=slug), request, order=("target_id", "name"))
    context = {
        "section": "targets",
        "target": row,
        "counts": counts_by_target([row]),
        "works": work_of(request.user, shown),
        "more": more,
        "queue": queue_of(request.user, row),
        "roofs": roofs_of_target(row),
        "utilisation": chart.utilisation(utilisation(target=row)) if shown else None,
        "fastest": _gains(request, row, Scenario.SINGLE_STREAM),
        "throughput": _gains(request, row, Scenario.OFFLINE),
    }
    return render(request, "target/page.html", context)


def _gains(request: HttpRequest, target: Target, scenario: str) -> list[Build]:
    return largest_gains(
        request.user, target=target, tolerance=ANY_TOLERANCE, scenario=scenario, limit=_GAINS
    )
