"""Searches on idle devices, for models that are downloaded often and run slowly."""

from django.conf import settings

from registry.selectors.work.improvement import (
    IMPROVEMENT_PRIORITY,
    Improvement,
    idle_devices,
    improvements,
)
from registry.selectors.work.target import targets_served
from registry.services.work.job import job_submit
from registry.services.work.lease import note
from registry.states import JobKind
from registry.tables import Job, Target

#: Longest search, in budgets of a usual one; a job may not ask for more.
_MOST_BUDGETS = 6


def improvements_continue() -> list[Job]:
    """Queue a search for each idle device, where one is worth it; returns them.

    Each search of a model is longer than the one before. It uses the results of all before.
    """
    if not settings.IDLE_SEARCHES:
        return []
    return [
        _submit(target, each)
        for target in targets_served()
        if (idle := idle_devices(target))
        for each in improvements(target, most=settings.IDLE_SEARCHES)[:idle]
    ]


def _submit(target: Target, improvement: Improvement) -> Job:
    budgets = min(_MOST_BUDGETS, 2 ** (improvement.earlier + 1))
    job = job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=improvement.revision,
        target=target,
        parameters={"budget_s": float(budgets * settings.TUNE_BUDGET_S)},
        priority=IMPROVEMENT_PRIORITY,
    )
    note(
        job,
        f"A device is idle: search {improvement.earlier + 1} of a model with "
        f"{improvement.downloads:,} downloads.",
    )
    return job
