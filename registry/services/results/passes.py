"""Trials of compiler pass lists, and the portfolio of lists for an architecture class."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry.selectors.results.graph import graph_of
from registry.selectors.results.passes import is_studied, studies_of_class
from registry.services.results.columns import check_columns
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job, target_of
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import ArchitectureClass, JobKind, TrialOutcome
from registry.tables import Job, PassPortfolio, PassTrial
from registry.validation.texts import check_json, printable

#: Studied networks of a class after which no further one is planned.
ENOUGH_NETWORKS = 5

_REQUIRED = frozenset(
    {
        "backend", "toolchain", "architecture_class", "graph_hash", "number", "role", "passes",
        "outcome",
    }
)  # fmt: skip
_OPTIONAL = frozenset(
    {
        "about", "failure_detail", "compile_s", "compile_ratio", "compile_ratio_low",
        "compile_ratio_high", "ratio", "ratio_low", "ratio_high", "same_code", "measurement",
    }
)  # fmt: skip
_CHOICES = {"outcome": TrialOutcome.values, "architecture_class": ArchitectureClass.values}


def pass_trial_add(*, job_uuid: str, fence: int, trial: dict[str, Any]) -> PassTrial:
    """Store a trial; adding the same trial again returns the stored one. Durable on return.

    ``trial`` has the columns of :class:`registry.tables.results.passes.PassTrial`, without job and
    target. Raises ``Conflict`` ``lease_lost``; nothing is written. Raises ``Invalid``
    ``invalid_request``, naming the columns.
    """
    check_columns(trial, _REQUIRED, _OPTIONAL, _CHOICES)
    columns = trial | {"failure_detail": printable(trial.get("failure_detail", ""))}
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        row, _ = PassTrial.objects.get_or_create(
            job=job,
            backend=trial["backend"],
            number=trial["number"],
            defaults={**columns, "target": target_of(job)},
        )
        return row


def portfolio_store(
    *,
    job_uuid: str,
    fence: int,
    backend: str,
    toolchain: str,
    architecture_class: str,
    networks: int,
    lists: Sequence[dict[str, Any]],
) -> PassPortfolio:
    """Replace the portfolio of an architecture class on the job's target.

    Raises ``Conflict`` ``lease_lost``; nothing is written. Raises ``Invalid`` ``invalid_request``
    if the lists are not storable JSON.
    """
    check_json({"lists": list(lists)})
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        row, _ = PassPortfolio.objects.update_or_create(
            target=target_of(job),
            backend=backend,
            toolchain=toolchain,
            architecture_class=architecture_class,
            defaults={"networks": networks, "lists": list(lists), "made_at": timezone.now()},
        )
        return row


def plan_pass_study(*, job_uuid: str) -> Job | None:
    """Queue a study of the network that a job searched, unless its class has enough studies."""
    job = Job.objects.select_related("target", "revision").get(uuid=job_uuid)
    graph = graph_of(job.revision)
    if graph is None or job.target is None:
        return None
    if is_studied(job.target, graph.graph_hash):
        return None
    if studies_of_class(job.target, graph.architecture_class) >= ENOUGH_NETWORKS:
        return None
    return job_submit(
        actor=None,
        kind=JobKind.PASSES,
        revision=job.revision,
        target=job.target,
        priority=BACKGROUND_PRIORITY,
    )
