"""Operator workloads and trials of their schedules.

Networks that use a workload share its row, which therefore outlives them.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry import schemas
from registry.errors import Invalid
from registry.selectors.results.graph import graph_of
from registry.selectors.results.schedule import is_scheduled
from registry.services.results.columns import check_columns
from registry.services.results.graph import required_graph
from registry.services.storage.blob import blob_store_bytes, blobs_hold
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job, target_of
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, TrialOutcome
from registry.tables import Job, ScheduleSketch, ScheduleTask, ScheduleTrial, ScheduleUse
from registry.validation.texts import check_json, printable

_TASK = frozenset({"key", "toolchain", "name", "anchor", "arguments", "flops", "features"})
#: What earlier versions of the agents do not report.
_DESCRIBED = frozenset({"structural_hash", "blocks", "compiler_target"})
_REQUIRED = frozenset(
    {
        "key", "toolchain", "number", "sketch", "decisions", "digest", "proposed_by", "outcome",
        "seconds", "duration_s",
    }
)  # fmt: skip
_OPTIONAL = frozenset({"predicted", "failure_detail"})


def schedule_task_add(
    *, job_uuid: str, fence: int, task: dict[str, Any], source: bytes, calls: int
) -> ScheduleTask:
    """Store a workload of the job's network and the number of its calls per run of the network.

    Raises ``Conflict`` ``lease_lost``; ``Invalid`` ``invalid_request``, naming the columns;
    ``NotFound`` ``graph_not_found``.

    Args:
        task: Columns of :class:`registry.tables.ScheduleTask`, without target and source.
        source: The workload in the compiler's own format.
    """
    check_columns(task, _TASK, _DESCRIBED)
    blob = blob_store_bytes(actor=None, data=source)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        graph = required_graph(job)
        blobs_hold([blob.sha256])
        identity = {name: task[name] for name in ("key", "toolchain")}
        others = {name: value for name, value in task.items() if name not in identity}
        row, is_new = ScheduleTask.objects.get_or_create(
            **identity, target=target_of(job), defaults={**others, "source": blob}
        )
        if not is_new and not row.blocks and task.get("blocks"):
            described = {name: task[name] for name in _DESCRIBED & task.keys()}
            ScheduleTask.objects.filter(pk=row.pk).update(**described, source=blob)
        ScheduleUse.objects.update_or_create(
            task=row, graph_hash=graph.graph_hash, defaults={"calls": calls}
        )
        return row


def schedule_trial_add(*, job_uuid: str, fence: int, trial: dict[str, Any]) -> ScheduleTrial:
    """Store a trial; adding the same trial again returns the stored one. Durable on return.

    ``trial`` has the columns of :class:`registry.tables.ScheduleTrial` without job and task, the
    ``key`` and ``toolchain`` of its workload, and the ``sketch`` as JSON. Raises ``Conflict``
    ``lease_lost``; nothing is written. Raises ``Invalid`` ``invalid_request``, naming the columns;
    also for an unknown workload.
    """
    check_columns(trial, _REQUIRED, _OPTIONAL, {"outcome": TrialOutcome.values})
    try:
        digest = schemas.sha256_of(trial["sketch"])
    except ValueError as error:
        fields = {"sketch": str(error)}
        raise Invalid("invalid_request", "The sketch cannot be stored.", fields=fields) from error
    columns = {
        name: value
        for name, value in trial.items()
        if name not in {"key", "toolchain", "sketch", "number"}
    }
    columns["failure_detail"] = printable(trial.get("failure_detail", ""))
    columns["median_s"] = median(trial["seconds"]) if trial["seconds"] else None
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        task = _task(job, trial["key"], trial["toolchain"])
        sketch, _ = ScheduleSketch.objects.get_or_create(
            digest=digest, defaults={"instructions": trial["sketch"]}
        )
        row, _ = ScheduleTrial.objects.get_or_create(
            job=job, number=trial["number"], defaults={**columns, "task": task, "sketch": sketch}
        )
        if (row.task_id, row.digest) != (task.pk, trial["digest"]):
            raise Invalid(
                "invalid_request",
                f"Trial {trial['number']} of job {job_uuid} is stored with another schedule.",
                "Continue the numbers of the job's stored trials.",
            )
        return row


def schedule_confirm(
    *,
    job_uuid: str,
    fence: int,
    key: str,
    toolchain: str,
    digest: str,
    seconds: Sequence[float],
    trace: Any,
) -> ScheduleTrial:
    """Store the confirmation run by which a schedule is the best of its workload.

    Args:
        digest: Digest of the schedule, of which a measured trial is stored.
        seconds: Raw times of one call, measured in alternation with the other candidates.
        trace: The whole schedule, as the compiler applies it.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: ``invalid_request``: no measured trial of the schedule, or no times.
    """
    check_json({"seconds": list(seconds), "trace": trace})
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        task = _task(job, key, toolchain)
        measured = task.trials.filter(digest=digest, outcome=TrialOutcome.MEASURED)
        row = measured.order_by("id").last()
        if row is None or not seconds:
            raise Invalid("invalid_request", f"Schedule {digest[:10]} has no measurement.")
        row.confirmed = list(seconds)
        row.confirmed_s = median(seconds)
        row.confirmed_at = timezone.now()
        row.trace = trace
        row.save(update_fields=["confirmed", "confirmed_s", "confirmed_at", "trace"])
        return row


def plan_schedules(*, job_uuid: str) -> Job | None:
    """Queue a search for schedules of the network that a job searched, once per network."""
    job = Job.objects.select_related("target", "revision__mlmodel__namespace").get(uuid=job_uuid)
    graph = graph_of(job.revision)
    if graph is None or job.target is None or is_scheduled(job.target, graph.graph_hash):
        return None
    return job_submit(
        actor=None,
        kind=JobKind.SCHEDULE,
        revision=job.revision,
        target=job.target,
        priority=BACKGROUND_PRIORITY,
    )


def _task(job: Job, key: str, toolchain: str) -> ScheduleTask:
    rows = ScheduleTask.objects.filter(key=key, toolchain=toolchain, target=target_of(job))
    task = rows.first()
    if task is None:
        raise Invalid("invalid_request", f"There is no workload {key[:64]!r}.")
    return task
