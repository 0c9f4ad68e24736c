"""Catch-up jobs: searches that were left out while a target had no active device, and reproductions
that are missing after a device's tools have changed.

There may be one job for each model of the hub. They are queued in batches, newest models first: the
first batch when a device joins, the others by the reaper. Target and device store the progress.
"""

from collections.abc import Callable
from functools import partial

from registry.selectors.work.job import unsearched_heads
from registry.selectors.work.target import targets_served
from registry.services.results.reproduction import plan_again
from registry.services.work.job import job_submit
from registry.services.work.target import revisions_end
from registry.states import DeviceHealth, DeviceState, JobKind
from registry.tables import Device, Job, Target

#: Priority of searches of published models for a target that joins; submissions by users have 100.
_PRIORITY = 200
#: Jobs of a batch, and most batches in one call of the reaper.
AT_ONCE = 100
_ROUNDS = 20


def plan_catch_up(*, target: Target) -> list[Job]:
    """Queue searches of models whose newest revision was never searched on a target: the first
    batch, which is returned. The reaper continues."""
    Target.objects.filter(pk=target.pk).update(catch_up_below=revisions_end())
    return _searches(target)


def plan_recheck(*, device: Device) -> list[Job]:
    """Queue reproductions of builds on the target of a device whose tools have changed: the first
    batch, which is returned. The reaper continues."""
    Device.objects.filter(pk=device.pk).update(recheck_below=revisions_end())
    return _reproductions(device)


def catch_ups_continue() -> None:
    """Queue further batches for all targets and devices that are online."""
    for target in targets_served().filter(catch_up_below__isnull=False):
        _repeat(partial(_searches, target))
    online = {"state": DeviceState.ACTIVE, "health": DeviceHealth.ONLINE, "target__enabled": True}
    for device in Device.objects.filter(recheck_below__isnull=False, **online):
        _repeat(partial(_reproductions, device))


def _repeat(step: Callable[[], list[Job]]) -> None:
    for _ in range(_ROUNDS):
        if len(step()) < AT_ONCE:
            return


def _searches(target: Target) -> list[Job]:
    row = Target.objects.get(pk=target.pk)
    if row.catch_up_below is None or not row.enabled:
        return []
    heads = unsearched_heads(row).filter(pk__lt=row.catch_up_below)[:AT_ONCE]
    jobs = [
        job_submit(actor=None, kind=JobKind.TUNE, revision=head, target=row, priority=_PRIORITY)
        for head in heads
    ]
    # Not if the catch-up began anew meanwhile.
    rows = Target.objects.filter(pk=row.pk, catch_up_below=row.catch_up_below)
    rows.update(catch_up_below=_rest(jobs))
    return jobs


def _reproductions(device: Device) -> list[Job]:
    row = Device.objects.select_related("target").get(pk=device.pk)
    if row.recheck_below is None or row.state != DeviceState.ACTIVE or not row.target.enabled:
        return []
    jobs = plan_again(target=row.target, tools=row.tools, below=row.recheck_below, at_once=AT_ONCE)
    rows = Device.objects.filter(pk=row.pk, recheck_below=row.recheck_below)
    rows.update(recheck_below=_rest(jobs))
    return jobs


def _rest(jobs: list[Job]) -> int | None:
    """The key below which revisions remain; ``None`` if none remain."""
    return jobs[-1].revision_id if len(jobs) == AT_ONCE else None
