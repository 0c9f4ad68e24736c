"""Searches on idle devices: for models that are faster on a related target, and for models that are
downloaded often and run slowly."""

from django.conf import settings

from registry.selectors.work.improvement import (
    IMPROVEMENT_PRIORITY,
    KIN_PRIORITY,
    Improvement,
    KinGain,
    idle_devices,
    improvements,
    kin_gains,
)
from registry.selectors.work.target import targets_served
from registry.services.work.job import job_submit
from registry.services.work.lease import note
from registry.states import JobKind
from registry.tables import Job, Revision, Target

#: Longest search, in budgets of a usual one; a job may not ask for more.
_MOST_BUDGETS = 6


def improvements_continue() -> list[Job]:
    """Queue a search for each idle device, where one is worth it; returns them.

    What was fast on a related target is tried first: such a search is short, and its gain is
    likely. Then each search of a model is longer than the one before. It uses the results of all
    before.
    """
    if not settings.IDLE_SEARCHES:
        return []
    return [
        job
        for target in targets_served()
        if (idle := idle_devices(target))
        for job in _searches(target, idle)
    ]


def _searches(target: Target, idle: int) -> list[Job]:
    jobs = [_try_gain(target, each) for each in kin_gains(target)[:idle]]
    if len(jobs) < idle:
        worth = improvements(target, most=settings.IDLE_SEARCHES)
        jobs += [_improve(target, each) for each in worth[: idle - len(jobs)]]
    return jobs


def _try_gain(target: Target, gain: KinGain) -> Job:
    job = _submit(target, gain.revision, settings.TUNE_BUDGET_S, KIN_PRIORITY)
    note(
        job,
        f"A device is idle: a configuration that is {1 / gain.ratio:.2f} times as fast as the "
        f"defaults on {gain.target.slug} is tried here.",
    )
    return job


def _improve(target: Target, improvement: Improvement) -> Job:
    budgets = min(_MOST_BUDGETS, 2 ** (improvement.earlier + 1))
    budget_s = budgets * settings.TUNE_BUDGET_S
    job = _submit(target, improvement.revision, budget_s, IMPROVEMENT_PRIORITY)
    note(
        job,
        f"A device is idle: search {improvement.earlier + 1} of a model with "
        f"{improvement.downloads:,} downloads.",
    )
    return job


def _submit(target: Target, revision: Revision, budget_s: float, priority: int) -> Job:
    return job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=revision,
        target=target,
        parameters={"budget_s": float(budget_s)},
        priority=priority,
    )
