"""Flows of jobs: which job a free worker takes, and what it costs its account.

A flow is marked as waiting in the transaction that queues a job in it, and unmarked by a claim that
finds it empty; both lock the flow's row first, so that no queued job is left in an unmarked flow.
Lock order: flow, job that is claimed (skipped if locked), common flow; job that is queued or ends,
flow, common flow.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from registry import fairshare
from registry.selectors.work.jobblob import revisions_with
from registry.selectors.work.queue import DueJobs, flows, queue_name
from registry.services.work.requirement import requirement_row
from registry.services.work.study import study_chance
from registry.states import WORKLOAD_JOBS, JobKind, JobState, Role
from registry.tables import Job, JobFlow, JobQueue, Membership, Revision, Target, User

_FLOWLESS_AT_ONCE = 500
#: The execution of a job is ended after this multiple of its estimate plus this allowance, because
#: one candidate of a slow network takes minutes, whatever the budget is.
_RUN_FACTOR, _RUN_ALLOWANCE_S = 10.0, 3600.0
#: Seconds of the jobs whose length no setting bounds.
_ESTIMATES_S = {
    JobKind.INSPECT: 5.0,
    JobKind.TABLES: 5.0,
    JobKind.IMPORT: 600.0,
    JobKind.REPRODUCE: 10.0,
    JobKind.ASSESS: 5.0,
    JobKind.DOI: 2.0,
    JobKind.RUN: 10.0,
}


def estimate_s(kind: JobKind, parameters: dict[str, Any]) -> float:
    """Seconds that a job is expected to take: at least 1, or it would cost its account nothing."""
    budgets = {
        JobKind.TUNE: parameters.get("budget_s") or settings.TUNE_BUDGET_S,
        JobKind.SCHEDULE: parameters.get("budget_s") or settings.SCHEDULE_S,
        **dict.fromkeys(WORKLOAD_JOBS, parameters.get("budget_s") or settings.ABLATION_S),
        JobKind.PASSES: parameters.get("budget_s") or settings.PASSES_S,
    }
    return max(1.0, float(budgets[kind] if kind in budgets else _ESTIMATES_S[kind]))


def run_limit_s(expected_s: float) -> float:
    """Seconds after which a job that was expected to take ``expected_s`` is ended.

    Only its execution counts, not the time in the queue or that of fetching files.
    """
    return _RUN_FACTOR * expected_s + _RUN_ALLOWANCE_S


def flow_columns(
    *,
    kind: JobKind,
    revision: Revision,
    target: Target | None,
    person: User | None,
    parameters: dict[str, Any],
    priority: int,
) -> dict[str, Any]:
    """The columns of a job that place it in its queue: flow, rank, estimate and requirement.

    A person's job is charged to that person; a job of the hub to the author of the revision, else
    to the first administrator of its namespace. An organisation has no share of its own.
    """
    estimate = estimate_s(kind, parameters)
    account = person or revision.author or _administrator(revision)
    return {
        "flow": _flow(queue_name(kind, target), fairshare.level_of(priority), account),
        "estimate_s": estimate,
        "queue_rank": fairshare.rank(
            submitted_at=timezone.now(),
            priority=priority,
            estimate_s=estimate,
            chance=study_chance(kind, revision, target),
            downloads=0 if person else revision.mlmodel.downloads,
        ),
        "requirement": requirement_row(kind, revision, target, parameters, estimate),
    }


def flow_wake(job: Job) -> None:
    """Mark the flow of a job that was queued in the current transaction."""
    if job.flow_id is None:
        return
    flow = _locked(job.flow_id)
    if flow.is_waiting:
        return
    common = _common(flow)
    advance = fairshare.activate(
        flow.level,
        flow.due_s,
        now_s=_virtual_time(flow),
        estimate_s=job.estimate_s,
        common_s=_start(common),
    )
    _store(flow, common, advance, is_waiting=True)


def flow_serve(flow: JobFlow, job: Job) -> None:
    """Charge a claimed job to its flow, which the current transaction has locked."""
    common = _common(flow)
    due_s = fairshare.turn_s(flow.due_s, now_s=_virtual_time(flow))
    served_s = fairshare.start_s(flow.level, due_s)
    advance = fairshare.serve(flow.level, due_s, estimate_s=job.estimate_s, common_s=_start(common))
    _store(flow, common, advance, served_s=served_s)


def flow_settle(job: Job) -> None:
    """Charge what a job that just ended took beyond its estimate, or refund it."""
    if job.flow_id is None or job.started_at is None:
        return
    error_s = (timezone.now() - job.started_at).total_seconds() - job.estimate_s
    flow = _locked(job.flow_id)
    common = _common(flow)
    now_s = _virtual_time(flow)
    flow.due_s = fairshare.settle(flow.level, flow.due_s, now_s=now_s, error_s=error_s)
    flow.save(update_fields=["due_s"])
    if common:
        common.due_s = fairshare.settle(common.level, common.due_s, now_s=now_s, error_s=error_s)
        common.save(update_fields=["due_s"])


def flow_reestimate(job: Job, seconds: float) -> None:
    """Change the estimate of a queued job, and its rank with it."""
    chance = study_chance(JobKind(job.kind), job.revision, job.target)
    rank = fairshare.rank(
        submitted_at=job.created_at, priority=job.priority, estimate_s=seconds, chance=chance
    )
    Job.objects.filter(pk=job.pk).update(estimate_s=seconds, queue_rank=rank)


def flow_lock(flow: JobFlow, *, wait: bool) -> JobFlow | None:
    """Lock a flow that was read as the next one.

    Unless ``wait``, ``None`` is returned for one that another claim holds or has served since.
    """
    rows = flows().select_for_update(of=("self",), skip_locked=not wait)
    if not wait:
        rows = rows.filter(due_s=flow.due_s)
    return rows.filter(pk=flow.pk, is_waiting=True).first()


def flow_rest(flow: JobFlow) -> None:
    """Remove the mark of a flow without queued jobs, which the current transaction has locked."""
    if not Job.objects.filter(flow=flow, state=JobState.QUEUED).exists():
        JobFlow.objects.filter(pk=flow.pk).update(is_waiting=False)


def next_job(flow: JobFlow, due: DueJobs) -> Job | None:
    """The next job of a flow, locked, with model and target; one that is locked is passed over.

    A worker with cached files prefers a job on them among the first jobs of the flow.
    """
    rows = due.rows().filter(flow=flow).order_by("queue_rank", "id")
    locked = rows.select_for_update(skip_locked=True, of=("self",)).select_related(
        "revision__mlmodel__namespace", "target"
    )
    if due.cached:
        first = list(rows.values_list("pk", "queue_rank", "revision")[: fairshare.AFFINITY_JOBS])
        cached = revisions_with({revision for _, _, revision in first}, due.cached)
        has_files = [revision in cached for _, _, revision in first]
        if any(has_files):
            index = fairshare.preferred_index([rank for _, rank, _ in first], has_files)
            if job := locked.filter(pk=first[index][0]).first():
                return job
    return locked.first()


def flows_assign() -> int:
    """Place queued jobs without a flow, such as those of an older version; their number."""
    count = 0
    flowless = Job.objects.filter(state=JobState.QUEUED, flow=None).order_by("id")
    while batch := list(flowless.values_list("pk", flat=True)[:_FLOWLESS_AT_ONCE]):
        for pk in batch:
            with transaction.atomic():
                rows = Job.objects.select_for_update(of=("self",)).select_related(
                    "revision__author", "revision__mlmodel", "target", "requested_by"
                )
                job = rows.filter(pk=pk, state=JobState.QUEUED, flow=None).first()
                if job is not None:
                    flow_assign(job)
                    count += 1
    return count


def flows_mark(jobs: Iterable[Job]) -> None:
    """Mark the flows of queued jobs, if a mark is missing."""
    for job in jobs:
        if JobFlow.objects.filter(jobs=job, is_waiting=False).exists():
            with transaction.atomic():
                flow_wake(job)


def flow_assign(job: Job) -> None:
    """Place a queued job, which the current transaction has locked, anew."""
    columns = flow_columns(
        kind=JobKind(job.kind),
        revision=job.revision,
        target=job.target,
        person=job.requested_by,
        parameters=job.parameters,
        priority=job.priority,
    )
    for name, value in columns.items():
        setattr(job, name, value)
    job.save(update_fields=list(columns))
    flow_wake(job)


def _flow(queue: str, level: int, account: User | None) -> JobFlow:
    row, _ = JobQueue.objects.get_or_create(name=queue)
    return JobFlow.objects.get_or_create(queue=row, level=level, account=account)[0]


def _administrator(revision: Revision) -> User | None:
    rows = Membership.objects.filter(namespace=revision.mlmodel.namespace_id, role=Role.ADMIN)
    return User.objects.filter(pk=rows.order_by("id").values("user")[:1]).first()


def _locked(pk: int) -> JobFlow:
    return flows().select_for_update(of=("self",)).get(pk=pk)


def _common(flow: JobFlow) -> JobFlow | None:
    """The flow with the common tag, locked, if the account is new."""
    if flow.account is None or flow.account.date_joined < timezone.now() - fairshare.NEW_ACCOUNT:
        return None
    common, _ = JobFlow.objects.get_or_create(
        queue_id=flow.queue_id, level=flow.level, account=None
    )
    return _locked(common.pk)


def _start(common: JobFlow | None) -> float | None:
    return fairshare.start_s(common.level, common.due_s) if common else None


def _virtual_time(flow: JobFlow) -> float:
    newest = JobFlow.objects.filter(queue=flow.queue_id).aggregate(Max("served_s"))
    return float(newest["served_s__max"] or 0.0)


def _store(
    flow: JobFlow, common: JobFlow | None, advance: fairshare.Advance, **columns: Any
) -> None:
    for name, value in {"due_s": advance.due_s, **columns}.items():
        setattr(flow, name, value)
    flow.save(update_fields=["due_s", *columns])
    if common is not None and advance.common_s is not None:
        common.due_s = advance.common_s + fairshare.LEVELS[common.level].handicap_s
        common.save(update_fields=["due_s"])
