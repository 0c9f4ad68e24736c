"""Trials of candidates: append-only."""

from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.services.results.columns import check_columns
from registry.services.work.lease import held_job, target_of
from registry.states import ToleranceClass, TrialOutcome
from registry.tables import Job, Trial
from registry.validation.texts import printable

_REQUIRED = frozenset(
    {
        "search_key", "number", "config_sha256", "candidate", "proposed_by", "outcome",
        "duration_s",
    }
)  # fmt: skip
_OPTIONAL = frozenset(
    {
        "predicted_ratio", "failure_detail", "tolerance", "ratio", "ratio_low", "ratio_high",
        "p50_ns", "deviation", "accuracy", "measurement", "compile_s",
    }
)  # fmt: skip
_CHOICES = {"outcome": TrialOutcome.values, "tolerance": ToleranceClass.values}


def trial_add(*, job_uuid: str, fence: int, trial: dict[str, Any]) -> Trial:
    """Store a trial; adding the same trial again returns the stored one. Durable on return.

    A candidate has one trial per job. Trials that the infrastructure failed do not count: they may
    be repeated under other numbers. The candidate has not taken the device down, so the job no
    longer stores it as the one that is being tried. ``trial`` has the columns of
    :class:`registry.tables.results.trial.Trial`, without job and target. Raises ``Conflict``
    ``lease_lost``; nothing is written. Raises ``Invalid`` ``invalid_request``, naming the columns.
    """
    check_columns(trial, _REQUIRED, _OPTIONAL, _CHOICES)
    columns = trial | {"failure_detail": printable(trial.get("failure_detail", ""))}
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        Job.objects.filter(pk=job.pk, candidate=trial["config_sha256"]).update(candidate="")
        of_job = Trial.objects.filter(job=job)
        of_candidate = of_job.filter(config_sha256=trial["config_sha256"])
        existing = (
            of_candidate.filter(number=trial["number"]).first()
            or of_candidate.exclude(outcome=TrialOutcome.INFRASTRUCTURE).first()
        )
        if existing:
            return existing
        if of_job.filter(number=trial["number"]).exists():
            raise Invalid(
                "invalid_request",
                f"Trial {trial['number']} of job {job_uuid} is stored with another candidate.",
                "Continue the numbers of the job's stored trials.",
            )
        return Trial.objects.create(job=job, target=target_of(job), **columns)
