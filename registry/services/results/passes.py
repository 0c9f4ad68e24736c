"""Lists of compiler passes that were tried, and what follows from them for a class."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry.errors import Invalid
from registry.selectors.results.graph import graph_of
from registry.selectors.results.passes import is_studied, studies_of_class
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job, target_of
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import ArchitectureClass, JobKind, TrialOutcome
from registry.tables import Job, PassPortfolio, PassTrial
from registry.validation.document import check_json, printable

#: Networks of a class after which another one would hardly change its portfolio.
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


def pass_trial_add(*, job_uuid: str, fence: int, trial: dict[str, Any]) -> PassTrial:
    """Keep a trial. Durable on return; adding the same one again returns the first.

    Args:
        trial: Columns of :class:`registry.tables.results.passes.PassTrial`, without job and target.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: ``invalid_request``, naming the columns.
    """
    _check(trial)
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
    """Replace what is known to serve a class on the job's target.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: ``invalid_request``: the lists are not storable JSON.
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
    """Queue a study of the network that a job searched, unless its class has seen enough of them.

    Returns:
        The study; ``None`` where none is needed.
    """
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


def _check(trial: dict[str, Any]) -> None:
    fields = dict.fromkeys(_REQUIRED - trial.keys(), "is missing")
    fields |= dict.fromkeys(trial.keys() - _REQUIRED - _OPTIONAL, "is not known")
    for name, known in (("outcome", TrialOutcome), ("architecture_class", ArchitectureClass)):
        if trial.get(name) not in known.values:
            fields.setdefault(name, f"must be one of {', '.join(known.values)}")
    if fields:
        raise Invalid("invalid_request", "That is not a trial of passes.", fields=fields)
    check_json({key: value for key, value in trial.items() if key != "failure_detail"})
