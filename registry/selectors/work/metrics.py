"""Figures of the fleet for monitoring: devices, queues, waits, fairness, lost leases.

They are read from the tables, so that all processes of the hub report the same. The number of rows
that are read is bounded, however many jobs there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.utils import timezone

from registry.fairshare import LEVELS
from registry.selectors.work.fleet import leased_jobs
from registry.selectors.work.jobattempt import attempts_between, utilisation
from registry.selectors.work.queue import queue_name
from registry.states import HUB_JOBS, AttemptEnd, JobKind, JobState
from registry.tables import Device, Job, JobAttempt, Target

#: Window of waits, fairness, failures and utilisation.
WINDOW = timedelta(hours=1)
#: Limit of the count of a queue's jobs.
MOST_WAITING = 100_000
#: Names of :data:`registry.fairshare.LEVELS`.
LEVEL_NAMES = ("interactive", "planned", "background")


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """Figures of one queue.

    Attributes:
        waiting: Queued jobs, counted to :data:`MOST_WAITING`.
        running: Leased jobs.
        oldest_s: Seconds that the first queued job has waited, without pauses; 0 if none waits.
    """

    waiting: int
    running: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class FleetFigures:
    """Figures of the fleet at one time.

    Attributes:
        devices: Number of devices by target, state and health.
        queues: Figures by the name of a queue.
        waits_s: 50th and 95th percentile, in seconds, of the waiting times of jobs that were
            claimed in the window, by level; levels without a claim are absent.
        fairness: Jain's index of the seconds of work that accounts got in the window: 1 if all got
            the same, 1/n if one of n got everything; ``None`` if nobody got any.
        starvation_s: The longest time in seconds that a queued job has waited.
        ends: Number of attempts that ended in the window, by end and failure class.
        utilisation: Busy share of the devices' time in the window by target, 0 to 1.
    """

    devices: dict[tuple[str, str, str], int]
    queues: dict[str, QueueFigures]
    waits_s: dict[str, tuple[float, float]]
    fairness: float | None
    starvation_s: float
    ends: dict[tuple[str, str], int]
    utilisation: dict[str, float]


def fleet_figures() -> FleetFigures:
    """The figures now."""
    now = timezone.now()
    since = now - WINDOW
    attempts = attempts_between(since)
    queues = _queues(now)
    shares = utilisation(hours=WINDOW.total_seconds() / 3600, bins=1).targets
    return FleetFigures(
        devices=_devices(),
        queues=queues,
        waits_s=_waits(attempt for attempt in attempts if attempt.started_at >= since),
        fairness=_fairness(attempts, since, now),
        starvation_s=max((queue.oldest_s for queue in queues.values()), default=0.0),
        ends=_ends(attempts),
        utilisation={slug: bins[0].share or 0.0 for slug, bins in shares.items()},
    )


def jain_index(values: Sequence[float]) -> float | None:
    """Jain's fairness index ``(sum x)^2 / (n * sum x^2)``, 1/n to 1; ``None`` if the sum is 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of sorted, non-empty ``values`` lie (nearest rank)."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _devices() -> dict[tuple[str, str, str], int]:
    rows = Device.objects.values_list("target__slug", "state", "health")
    return {(slug, state, health): n for slug, state, health, n in rows.annotate(n=Count("pk"))}


def _queues(now: datetime) -> dict[str, QueueFigures]:
    rows: list[tuple[str, dict[str, Any]]] = [
        (queue_name(kind, None), {"kind": kind, "target": None}) for kind in sorted(HUB_JOBS)
    ]
    rows += [
        (queue_name(JobKind.TUNE, target), {"target": target}) for target in Target.objects.all()
    ]
    return {name: _queue(now, **filters) for name, filters in rows}


def _queue(now: datetime, **filters: Any) -> QueueFigures:
    queued = Job.objects.filter(state=JobState.QUEUED, **filters).order_by("notified_at", "id")
    oldest = queued.first()
    since = (oldest.not_before or oldest.notified_at) if oldest else now
    return QueueFigures(
        waiting=queued[:MOST_WAITING].count(),
        running=leased_jobs().filter(**filters).count(),
        oldest_s=max(0.0, (now - since).total_seconds()),
    )


def _waits(attempts: Iterable[JobAttempt]) -> dict[str, tuple[float, float]]:
    waits: dict[int, list[float]] = defaultdict(list)
    for attempt in attempts:
        waits[attempt.level].append(attempt.wait_s)
    return {
        LEVEL_NAMES[level]: (percentile(sorted(own), 0.5), percentile(sorted(own), 0.95))
        for level, own in sorted(waits.items())
        if level < len(LEVELS)
    }


def _fairness(attempts: Iterable[JobAttempt], since: datetime, now: datetime) -> float | None:
    seconds: dict[int, float] = defaultdict(float)
    for attempt in attempts:
        if attempt.account_id is not None:
            worked = (attempt.ended_at or now) - max(attempt.started_at, since)
            seconds[attempt.account_id] += worked.total_seconds()
    return jain_index(list(seconds.values()))


def _ends(attempts: Iterable[JobAttempt]) -> dict[tuple[str, str], int]:
    # Present even if it is 0, so that an alert has a series to read.
    counts: dict[tuple[str, str], int] = {(end, ""): 0 for end in AttemptEnd.values}
    counts[AttemptEnd.LOST, "infrastructure"] = counts.pop((AttemptEnd.LOST, ""))
    for attempt in attempts:
        if attempt.end:
            key = (attempt.end, attempt.failure_class)
            counts[key] = counts.get(key, 0) + 1
    return counts
