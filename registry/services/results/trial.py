"""Candidates that were tried: kept as they land, never changed."""

from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.services.work.lease import held_job, target_of
from registry.states import ToleranceClass, TrialOutcome
from registry.tables import Trial
from registry.validation.document import check_json, printable

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


def trial_add(*, job_uuid: str, fence: int, trial: dict[str, Any]) -> Trial:
    """Keep a trial. Durable on return; adding the same one again returns the first.

    A candidate has one trial per job. Only where the rig failed, which says nothing about the
    candidate, may it have more, each with a number of its own.

    Args:
        trial: Columns of :class:`registry.tables.results.trial.Trial`, without job and target.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: ``invalid_request``, naming the columns.
    """
    _check(trial)
    columns = trial | {"failure_detail": printable(trial.get("failure_detail", ""))}
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        of_job = Trial.objects.filter(job=job)
        known = of_job.filter(config_sha256=trial["config_sha256"])
        existing = (
            known.filter(number=trial["number"]).first()
            or known.exclude(outcome=TrialOutcome.INFRASTRUCTURE).first()
        )
        if existing:
            return existing
        if of_job.filter(number=trial["number"]).exists():
            raise Invalid(
                "invalid_request",
                f"Trial {trial['number']} of job {job_uuid} is of another candidate.",
                "Number trials on from those the job already has.",
            )
        return Trial.objects.create(job=job, target=target_of(job), **columns)


def _check(trial: dict[str, Any]) -> None:
    fields = dict.fromkeys(_REQUIRED - trial.keys(), "is missing")
    fields |= dict.fromkeys(trial.keys() - _REQUIRED - _OPTIONAL, "is not known")
    if trial.get("outcome") not in TrialOutcome.values:
        fields.setdefault("outcome", f"must be one of {', '.join(TrialOutcome.values)}")
    if trial.get("tolerance", "") not in {"", *ToleranceClass.values}:
        fields["tolerance"] = f"must be one of {', '.join(ToleranceClass.values)}"
    if fields:
        raise Invalid("invalid_request", "That is not a trial.", fields=fields)
    check_json({key: value for key, value in trial.items() if key != "failure_detail"})
