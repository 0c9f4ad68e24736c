"""Reads of the job queue: flows in the order of service, and why a job waits.

The number of rows read does not grow with the number of waiting jobs: flows are read by the index
of their due times, jobs by that of their flow, and counts end at a limit.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.utils import timezone

from registry import fairshare
from registry.fairshare import FlowState
from registry.ids import parse_uuid
from registry.selectors.work.waitreason import (
    TargetService,
    ahead_reason,
    next_in_line,
    obstacle,
    pause_reason,
    services_of,
    start_forecast,
)
from registry.states import HUB_JOBS, JobKind, JobState
from registry.tables import Job, JobFlow, JobQueue, Target

#: Limit of counts of jobs ahead; the number of jobs in farther positions is not determined.
COUNTED_JOBS = 1000
_FLOWS_AT_ONCE = 16
_COUNTED_FLOWS = 100
_COUNTED_PER_FLOW = 100


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a queued job waits.

    Attributes:
        position: From 1; a job that has :data:`COUNTED_JOBS` of its account ahead is farther back.
        reason: A sentence for people.
        start_s: Seconds until its expected start; ``None`` if no worker serves the queue.
    """

    position: int
    reason: str
    start_s: float | None


def queue_name(kind: JobKind, target: Target | None) -> str:
    """The queue of a job: a target has one for all kinds, each kind of the hub's jobs has one."""
    return f"hub.{kind}" if kind in HUB_JOBS or target is None else f"target.{target.slug}"


@dataclass(frozen=True, slots=True)
class DueJobs:
    """Which queued jobs a worker may claim.

    Attributes:
        is_quick: Whether to leave out jobs that have yielded.
        fitting: Keys of the requirements that the worker's device meets; ``None``: all.
        cached: Digests of files that the worker's machine has.
    """

    kinds: tuple[JobKind, ...]
    is_quick: bool = False
    fitting: Collection[int] | None = None
    cached: frozenset[str] = frozenset()

    def rows(self) -> QuerySet[Job]:
        """These jobs, as far as their pauses have ended."""
        due = Q(not_before=None) | Q(not_before__lte=timezone.now())
        rows = Job.objects.filter(due, state=JobState.QUEUED, kind__in=self.kinds)
        if self.is_quick:
            rows = rows.filter(yields=0)
        if self.fitting is not None:
            rows = rows.filter(Q(requirement=None) | Q(requirement__in=self.fitting))
        return rows


def flows() -> QuerySet[JobFlow]:
    """All flows with the age of their accounts, whose rows have many more columns."""
    columns = ("queue", "level", "account", "due_s", "served_s", "is_waiting")
    return JobFlow.objects.select_related("account").only(*columns, "account__date_joined")


def flows_due(queue: JobQueue, due: DueJobs) -> Iterator[Sequence[JobFlow]]:
    """Flows of a queue in the order of service, a few at a time.

    Each has ``next_job``, the key of the job that may be claimed now, and ``any_job``, that of the
    first queued one; ``None`` if there is none.
    """
    jobs = due.rows().filter(flow=OuterRef("pk"))
    queued = Job.objects.filter(flow=OuterRef("pk"), state=JobState.QUEUED)
    rows = JobFlow.objects.filter(queue=queue, is_waiting=True).order_by("due_s", "id")
    # Not EXISTS: PostgreSQL would hash all waiting jobs to answer it.
    rows = rows.annotate(next_job=_first(jobs), any_job=_first(queued))
    after = Q()
    # Most often the first flow has a job for the worker.
    count = 1
    while page := list(rows.filter(after)[:count]):
        yield page
        if len(page) < count:
            return
        count = _FLOWS_AT_ONCE
        last = page[-1]
        after = Q(due_s__gt=last.due_s) | Q(due_s=last.due_s, id__gt=last.pk)


def waits_of(jobs: Iterable[Job]) -> dict[int, Wait]:
    """Key of a job to the reason why it waits; jobs that are not queued are left out."""
    queued = {job.pk: job for job in jobs if job.state == JobState.QUEUED}
    if not queued:
        return {}
    rows = Job.objects.filter(pk__in=queued, state=JobState.QUEUED, flow__isnull=False)
    rows = rows.select_related("flow", "target").annotate(ahead_reason=_own_ahead())
    placed = list(rows)
    flows = _waiting_flows({job.flow.queue_id for job in placed if job.flow})
    services = services_of(placed)
    return {job.pk: _wait(job, flows, services) for job in placed}


def is_search_due(job_uuid: str) -> bool:
    """Whether a search or a run of a higher level waits that would be claimed before the running
    job."""
    flow = JobFlow.objects.filter(jobs__uuid=parse_uuid(job_uuid)).first()
    if flow is None:
        return False
    searches = DueJobs((JobKind.TUNE, JobKind.RUN)).rows().filter(flow=OuterRef("pk"))
    flows = JobFlow.objects.annotate(search=_first(searches)).filter(
        search__isnull=False,
        queue=flow.queue_id,
        is_waiting=True,
        level__lt=flow.level,
        due_s__lt=flow.served_s + fairshare.LEVELS[flow.level].handicap_s,
    )
    return flows.exists()


def _first(jobs: QuerySet[Job]) -> Subquery:
    return Subquery(jobs.order_by("queue_rank", "id").values("pk")[:1])


def _own_ahead() -> RawSQL:
    """Number of jobs of the same flow that come before, counted to the limit."""
    return RawSQL(
        "(SELECT COUNT(*) FROM (SELECT 1 FROM registry_job other"
        " WHERE other.flow_id = registry_job.flow_id AND other.state = %s"
        " AND (other.queue_rank, other.id)"
        " < (registry_job.queue_rank, registry_job.id) LIMIT %s) counted)",
        (JobState.QUEUED, COUNTED_JOBS),
    )


def _waiting_flows(queues: set[int]) -> dict[int, list[tuple[int, FlowState]]]:
    """Key of a queue to its first flows, each with its key."""
    waiting = RawSQL(
        "(SELECT COUNT(*) FROM (SELECT 1 FROM registry_job other"
        " WHERE other.flow_id = registry_jobflow.id AND other.state = %s LIMIT %s) counted)",
        (JobState.QUEUED, _COUNTED_PER_FLOW),
    )
    heads = Job.objects.filter(flow=OuterRef("pk"), state=JobState.QUEUED).order_by(
        "queue_rank", "id"
    )
    states: dict[int, list[tuple[int, FlowState]]] = defaultdict(list)
    for queue in queues:
        rows = JobFlow.objects.filter(queue=queue, is_waiting=True).order_by("due_s", "id")
        rows = rows.annotate(count=waiting, seconds=Subquery(heads.values("estimate_s")[:1]))
        for row in rows[:_COUNTED_FLOWS]:
            if row.count:
                state = FlowState(row.level, row.due_s, row.count, row.seconds, row.pk)
                states[queue].append((row.pk, state))
    return states


def _wait(
    job: Job,
    flows: dict[int, list[tuple[int, FlowState]]],
    services: dict[int | None, TargetService],
) -> Wait:
    assert job.flow is not None  # noqa: S101 - filtered by the query
    own: int = job.ahead_reason  # type: ignore[attr-defined]
    mine = FlowState(job.flow.level, job.flow.due_s, own + 1, max(job.estimate_s, 1.0), job.flow.pk)
    others = [state for pk, state in flows[job.flow.queue_id] if pk != job.flow_id]
    count, seconds = fairshare.jobs_ahead(mine, own, others)
    position = own + count + 1
    service = services[job.target_id]
    if reason := obstacle(job, service):
        return Wait(position, reason, None)
    start_s = (own * mine.estimate_s + seconds) / service.online
    if job.not_before and job.not_before > (now := timezone.now()):
        start_s = max(start_s, (job.not_before - now).total_seconds())
        return Wait(
            position, f"{pause_reason(job, job.not_before)}; {start_forecast(start_s)}", start_s
        )
    if not own + count:
        return Wait(position, next_in_line(job, service), start_s)
    line = ahead_reason(own, count, limit=COUNTED_JOBS)
    return Wait(position, f"{line}; {start_forecast(start_s)}", start_s)
