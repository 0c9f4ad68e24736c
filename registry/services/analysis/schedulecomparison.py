"""Comparisons of schedules with the best one of their workload, as devices send them."""

from typing import Any

from registry.errors import Invalid
from registry.selectors.analysis.workloadjob import task_of_job
from registry.services.results.columns import check_columns
from registry.states import TrialOutcome, Verdict
from registry.tables import Job, ScheduleTrial
from registry.validation.texts import printable

_REQUIRED = frozenset({"key", "toolchain", "digest", "outcome", "verdict", "duration_s"})
_OPTIONAL = frozenset(
    {"failure_detail", "seconds", "best_seconds", "ratio", "ratio_low", "ratio_high"}
)
_CHOICES = {"outcome": TrialOutcome.values, "verdict": Verdict.values}


def check_comparison(columns: dict[str, Any], own: frozenset[str]) -> None:
    """Check the columns of a comparison and the ``own`` ones of its table, all required.

    Raises ``Invalid`` ``invalid_request``, naming the columns.
    """
    check_columns(columns, _REQUIRED | own, _OPTIONAL, _CHOICES)


def compared_trial(job: Job, columns: dict[str, Any]) -> ScheduleTrial:
    """The best schedule that a comparison names, of the job's workload.

    Raises ``Invalid`` ``invalid_request``; ``NotFound`` ``workload_not_found``.
    """
    task = task_of_job(job)
    if (task.key, task.toolchain) != (columns["key"], columns["toolchain"]):
        raise Invalid("invalid_request", "This is not the workload of the job.")
    confirmed = task.trials.filter(digest=columns["digest"], confirmed_at__isnull=False)
    trial = confirmed.order_by("confirmed_at", "id").last()
    if trial is None:
        detail = f"Schedule {columns['digest'][:10]} is not confirmed."
        raise Invalid("invalid_request", detail)
    return trial


def comparison_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, without those that identify the workload."""
    rest = {
        name: value
        for name, value in columns.items()
        if name not in {"key", "toolchain", "digest", "source"}
    }
    return rest | {"failure_detail": printable(columns.get("failure_detail", ""))}
