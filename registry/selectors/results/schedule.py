"""Reads of operator workloads and of the trials of their schedules."""

from collections.abc import Sequence
from math import dist
from typing import Any

from django.db.models import QuerySet

from registry.ids import parse_uuid
from registry.selectors.storage.blob import blob_open
from registry.states import JobKind, JobState, TrialOutcome
from registry.tables import Graph, Job, ScheduleTask, ScheduleTrial, ScheduleUse, Target

#: Columns of a trial that the engine reads, besides its sketch.
_COLUMNS = (
    "number", "decisions", "proposed_by", "predicted", "outcome", "failure_detail", "seconds",
    "duration_s", "digest", "confirmed", "confirmed_at", "trace",
)  # fmt: skip
#: Upper bounds: newest workloads compared, similar workloads returned, trials of each.
_SIMILAR_DEPTH = 500
_SIMILAR_TASKS = 4
_SIMILAR_TRIALS = 96
#: Upper bound on schedules for a network whose workloads are not known.
_MOST_SCHEDULES = 1000


def schedule_trials(target: str, toolchain: str, key: str) -> list[dict[str, Any]]:
    """Trials of a workload by all jobs, oldest first, as ``schedule_trial_add`` takes them."""
    rows = ScheduleTrial.objects.filter(
        task__key=key, task__target__slug=target, task__toolchain=toolchain
    )
    return _trials(rows.order_by("id"))


def schedule_trials_of_job(job_uuid: str) -> list[dict[str, Any]]:
    """Stored trials of a job by number; each with the ``key`` of its workload."""
    rows = ScheduleTrial.objects.filter(job__uuid=parse_uuid(job_uuid))
    return _trials(rows.order_by("number"))


def schedules_similar(target: str, toolchain: str, key: str) -> list[dict[str, Any]]:
    """Other workloads with the same heaviest operator, by distance of their features.

    Each comes with its fastest and its newest other trials, failures included.

    Returns:
        ``{"key", "name", "anchor", "arguments", "flops", "features", "source", "trials"}`` each,
        ``source`` being bytes.
    """
    on_target = ScheduleTask.objects.filter(target__slug=target, toolchain=toolchain)
    task = on_target.filter(key=key).first()
    if task is None:
        return []
    others = on_target.filter(anchor=task.anchor, trials__median_s__gt=0).exclude(pk=task.pk)
    newest = others.distinct().order_by("-id")[:_SIMILAR_DEPTH]
    near = sorted(
        (other for other in newest if len(other.features) == len(task.features)),
        key=lambda other: (dist(other.features, task.features), other.key),
    )
    similar = []
    for other in near[:_SIMILAR_TASKS]:
        trials = other.trials.exclude(outcome=TrialOutcome.INFRASTRUCTURE)
        fastest = trials.exclude(median_s=None).order_by("median_s", "id")[: _SIMILAR_TRIALS // 2]
        keys = {row.pk for row in fastest}
        rest = trials.exclude(pk__in=keys).order_by("-id")[: _SIMILAR_TRIALS // 2]
        keys |= {row.pk for row in rest}
        with blob_open(other.source) as source:
            content = source.read()
        described = {
            name: getattr(other, name)
            for name in ("key", "name", "anchor", "arguments", "flops", "features")
        }
        rows = _trials(ScheduleTrial.objects.filter(pk__in=keys).order_by("id"))
        similar.append({**described, "source": content, "trials": rows})
    return similar


def schedules_best(target: str, toolchain: str, graph_hash: str) -> list[dict[str, Any]]:
    """The confirmed schedules of a network's workloads, the newest of each.

    If the network's workloads are not known yet, the most recently confirmed schedules of all
    workloads are returned, at most :data:`_MOST_SCHEDULES`.

    Returns:
        ``{"key", "trace", "seconds"}`` each, by key.
    """
    rows = ScheduleTrial.objects.filter(
        task__target__slug=target, task__toolchain=toolchain, confirmed_at__isnull=False
    )
    of_network = ScheduleUse.objects.filter(
        graph_hash=graph_hash, task__target__slug=target, task__toolchain=toolchain
    )
    if of_network.exists():
        rows = rows.filter(task__in=of_network.values("task"))
    best: dict[str, dict[str, Any]] = {}
    columns = ("task__key", "trace", "confirmed_s")
    newest = rows.order_by("-confirmed_at", "-id").values_list(*columns)
    for key, trace, seconds in newest.iterator():
        if len(best) == _MOST_SCHEDULES:
            break
        best.setdefault(key, {"key": key, "trace": trace, "seconds": seconds})
    return [best[key] for key in sorted(best)]


def is_scheduled(target: Target, graph_hash: str) -> bool:
    """Whether a network has a search for schedules on a target, queued or ended.

    A failed search counts, because it would fail again; a cancelled one does not.
    """
    graphs = Graph.objects.filter(graph_hash=graph_hash, is_primary=True)
    jobs = Job.objects.filter(
        kind=JobKind.SCHEDULE, target=target, revision__in=graphs.values("revision")
    )
    return jobs.exclude(state=JobState.CANCELLED).exists()


def _trials(rows: QuerySet[ScheduleTrial]) -> list[dict[str, Any]]:
    columns: Sequence[dict[str, Any]] = rows.values(*_COLUMNS, "task__key", "sketch__instructions")
    return [
        {
            **{name: row[name] for name in _COLUMNS},
            "key": row["task__key"],
            "sketch": row["sketch__instructions"],
        }
        for row in columns
    ]
