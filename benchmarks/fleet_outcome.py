"""Outcome of the fleet benchmark: jobs lost or done twice, and the time until leases ended.

Needs Django to be set up before it is imported.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Max, QuerySet
from django.utils import timezone

from benchmarks.fleet_kills import TUNER
from benchmarks.fleet_rows import FLOOD, SLUG
from registry.states import AttemptEnd, JobKind, JobState
from registry.tables import Build, Graph, Job, JobAttempt, JobEvent, Trial
from registry.transitions import JOB_ENDED


@dataclass
class Outcome:
    """The outcome of all jobs.

    Attributes:
        jobs: Number of searches and inspections.
        withdrawn: Jobs that were withdrawn at the end because they still waited.
        lost: Jobs that have not ended, or whose acknowledged end is not in the tables.
        twice: Jobs with two ends, two sets of builds, or a trial that is stored twice.
        failures: Numbers of failed jobs by the code of the failure; ``job_interrupted``: their
            leases were lost too often.
        recovered_s: Seconds from each kill of an agent or tuner with a lease to the end of the
            lease.
        worst_wait_s: Longest wait in seconds of a first attempt, without the flooding owner's jobs.
        acknowledged: Number of ends that the hub acknowledged.
        counts: Number of lines in the log by their first word.
        claims_s: Durations of the agents' claims under load, in seconds.
    """

    jobs: int = 0
    withdrawn: int = 0
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    recovered_s: list[float] = field(default_factory=list)
    worst_wait_s: float = 0.0
    acknowledged: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    claims_s: list[float] = field(default_factory=list)


def open_jobs() -> int:
    """Number of searches and inspections that have not ended."""
    return _counted_jobs().exclude(state__in=JOB_ENDED).count()


def withdraw_queued() -> int:
    """Withdraw the searches and inspections that still wait; their number."""
    rows = _counted_jobs().filter(state=JobState.QUEUED)
    return rows.update(state=JobState.CANCELLED, ended_at=timezone.now())


def _counted_jobs() -> QuerySet[Job]:
    """Searches and inspections. Repetitions of inconclusive searches are left out: they wait for
    ten minutes or more."""
    jobs = Job.objects.filter(kind__in=[JobKind.TUNE, JobKind.INSPECT])
    return jobs.exclude(parameters__has_key="repeats")


def outcome(
    folder: Path, submitted: Sequence[str], kills: Sequence[tuple[str, datetime]]
) -> Outcome:
    """Count the outcomes of the jobs.

    Args:
        submitted: UUIDs of searches whose submission was acknowledged.
        kills: Names of killed agents, or ``tuner``, with the times of the kills.
    """
    rows = _counted_jobs()
    result = Outcome(jobs=rows.count())
    lines = [line.split() for line in (folder / "log").read_text().splitlines()]
    result.counts = Counter(line[0] for line in lines)
    result.claims_s = [float(line[1]) for line in lines if line[0] == "claim"]
    succeeded = [line[1] for line in lines if line[0] == "succeeded"]
    result.acknowledged = len(succeeded)
    states = {str(uuid): state for uuid, state in rows.values_list("uuid", "state")}
    result.lost += [uuid for uuid in submitted if uuid not in states]
    result.lost += [uuid for uuid, state in states.items() if state not in JOB_ENDED]
    result.lost += [uuid for uuid in set(succeeded) if states.get(uuid) != JobState.SUCCEEDED]
    failed = rows.filter(state=JobState.FAILED)
    result.failures = Counter(failed.values_list("failure_code", flat=True))
    result.twice = _twice(succeeded)
    result.recovered_s = list(_recovered(kills))
    small = JobAttempt.objects.filter(target__slug=SLUG, fence=1)
    small = small.exclude(account__username=FLOOD)
    result.worst_wait_s = small.aggregate(Max("wait_s"))["wait_s__max"] or 0.0
    return result


def _twice(succeeded: Sequence[str]) -> list[str]:
    """Faults: rows that exist twice and must exist once.

    An attempt that is killed after it has published leaves builds that the next attempt withdraws.
    Real searches publish interim builds and withdraw them, too.
    """
    baselines = Build.objects.filter(is_baseline=True)
    ends = JobEvent.objects.filter(message="Succeeded.")
    attempts = JobAttempt.objects.filter(end=AttemptEnd.SUCCEEDED)
    trials = Trial.objects.exclude(outcome="infrastructure")
    graphs = Graph.objects.filter(is_primary=True)
    rows: dict[str, Iterable[Any]] = {
        "end": ends.values_list("job__uuid"),
        "baseline": baselines.filter(withdrawn_at=None).values_list("job__uuid"),
        "baseline of attempt": _baselines_by_attempt(baselines.filter(target__slug=SLUG)),
        "trial": trials.values_list("job__uuid", "config_sha256"),
        "attempt": attempts.values_list("job__uuid"),
        "graph": graphs.values_list("revision__oid"),
        "acknowledged end": succeeded,
    }
    return [
        f"{count} times {what} {key}"
        for what, keys in rows.items()
        for key, count in Counter(keys).items()
        if count > 1
    ]


def _baselines_by_attempt(builds: QuerySet[Build]) -> Iterable[tuple[str, int | None]]:
    """Job and fence of the attempt that was running when each build was stored."""
    spans: dict[int, list[tuple[int, datetime, datetime]]] = {}
    for attempt in JobAttempt.objects.exclude(ended_at=None):
        assert attempt.ended_at is not None
        spans.setdefault(attempt.job_id, []).append(
            (attempt.fence, attempt.started_at, attempt.ended_at)
        )
    for job_id, stored_at in builds.values_list("job_id", "created_at"):
        during = (f for f, start, end in spans.get(job_id, ()) if start <= stored_at <= end)
        fence = next(during, None)
        # A write of an attempt that had ended should have been refused: it counts twice.
        yield from [(str(job_id), fence)] * (2 if fence is None else 1)


def _recovered(kills: Sequence[tuple[str, datetime]]) -> Iterable[float]:
    """Seconds from the first kill of an attempt's holder to the end of the attempt."""
    ended = JobAttempt.objects.exclude(device=None).exclude(ended_at=None)
    for attempt in ended.exclude(end=AttemptEnd.SUCCEEDED).select_related("device", "target"):
        assert attempt.device is not None
        assert attempt.ended_at is not None
        is_simulated = attempt.target is not None and attempt.target.slug == SLUG
        holder = attempt.device.name if is_simulated else TUNER
        times = [at for name, at in kills if name == holder]
        if during := [at for at in times if attempt.started_at < at < attempt.ended_at]:
            yield (attempt.ended_at - min(during)).total_seconds()
