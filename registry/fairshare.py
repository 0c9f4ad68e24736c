"""The rule of the job queue: start-time fair queueing between accounts, as pure functions.

A *queue* serves jobs to the workers of a target, or to the hub's workers of one kind. A *flow* are
the jobs of one account at one priority level of a queue. Virtual time is measured in seconds of
work. Each flow has a start tag: the virtual time at which its next job begins. A free worker serves
the flow with the smallest start tag plus the handicap of its level; then the tag grows by the
seconds that the job is charged. A flow that was idle starts at the queue's virtual time, the
largest start tag served so far: idleness earns nothing, and a flood is served one job at a time
between the jobs of others. A device serves the first flow with a job that it fits. docs/queue.md
states the resulting bound on waiting times.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil, log, log2, sqrt

#: Accounts younger than this share the share of one account, so that registering many accounts
#: gains nothing against accounts that exist.
NEW_ACCOUNT = timedelta(days=7)

_SIZE_WEIGHT = 4.0
_MOST_SIZE_S = 3600.0
#: The same bound for background jobs, whose size is the expected time of an improvement.
_MOST_STUDY_S = 4 * 3600.0
_LEAST_CHANCE = 0.01
_PRIORITY_S = 60.0
#: Seconds of rank for each doubling of a model's downloads, and for all of them.
_DEMAND_S, _MOST_DEMAND_S = 300.0, 3600.0
#: How far behind the first job of a flow a job may be that a device prefers because it has its
#: files: seconds of rank, and number of jobs.
AFFINITY_S = 300.0
AFFINITY_JOBS = 8


@dataclass(frozen=True, slots=True)
class Level:
    """A priority level.

    Attributes:
        below: Priority numbers below this one belong to the level, unless to an earlier one.
        handicap_s: Virtual time by which its flows are behind those of the first level. It is also
            the ageing: a flow is served at the latest when all flows ahead have received so much.
        charge: Seconds of virtual time for each second of work: the inverse of the level's weight.
    """

    below: float
    handicap_s: float
    charge: float


#: Work that a person waits for; searches that the hub plans, and reproductions; background studies.
LEVELS = (
    Level(below=200, handicap_s=0.0, charge=1.0),
    Level(below=300, handicap_s=3600.0, charge=4.0),
    Level(below=float("inf"), handicap_s=7200.0, charge=16.0),
)


@dataclass(frozen=True, slots=True)
class FlowState:
    """What the rule reads of a flow: the virtual time ``due_s`` of its next job, which includes the
    handicap of its level; the number of jobs that wait; the estimate of one in seconds; a number
    that decides between equal due times."""

    level: int
    due_s: float
    waiting: int = 1
    estimate_s: float = 1.0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Advance:
    """New values after an activation or a claim: of the flow, and of the common tag of new
    accounts, ``None`` for accounts that are not new."""

    due_s: float
    common_s: float | None = None


def level_of(priority: int) -> int:
    """Index in :data:`LEVELS` of a priority number; lower numbers come first."""
    return next(index for index, level in enumerate(LEVELS) if priority < level.below)


def rank(
    *,
    submitted_at: datetime,
    priority: int,
    estimate_s: float,
    chance: float | None = None,
    downloads: int = 0,
) -> float:
    """Position of a job within its flow; the smallest is next.

    The time of submission plus a minute for each priority number and four times the estimated
    seconds, at most an hour: small jobs come first, and none is overtaken for ever.

    Args:
        chance: For background jobs: the probability that it improves its network, 0 to 1. Its size
            is then the seconds that an improvement is expected to take, ``estimate_s / chance``,
            and adds at most four hours.
        downloads: For jobs of the hub: those of the model. Each doubling is worth five minutes, an
            hour at most.
    """
    if chance is None:
        size_s = min(_MOST_SIZE_S, _SIZE_WEIGHT * estimate_s)
    else:
        seconds = estimate_s / max(_LEAST_CHANCE, chance)
        size_s = min(_MOST_STUDY_S, _SIZE_WEIGHT * seconds)
    demand_s = min(_MOST_DEMAND_S, _DEMAND_S * log2(1 + downloads))
    return submitted_at.timestamp() + _PRIORITY_S * priority + size_s - demand_s


def improvement_chance(*, improved: int, ended: int, total: int) -> float:
    """Upper confidence bound on the probability that a background job improves its network.

    The bound is Hoeffding's, at the confidence ``1 - 1 / (total + 1)``: the fewer
    jobs there were, the farther it is above their mean, so that a few failures do not exclude a
    kind.

    Args:
        improved, ended: Earlier jobs of its kind and architecture class on the target.
        total: Earlier background jobs on the target, of all kinds and classes.

    Returns:
        0 to 1; 1 if there was no earlier job.
    """
    if not ended:
        return 1.0
    return min(1.0, improved / ended + sqrt(log(max(total, ended) + 1) / (2 * ended)))


def preferred_index(ranks: Sequence[float], is_cached: Sequence[bool]) -> int:
    """Index of the job that a device takes from the first jobs of a flow.

    This is the first job whose files the device has, unless that is more than :data:`AFFINITY_S`
    behind the first job; ``ranks`` are in ascending order and not empty.
    """
    pairs = enumerate(zip(ranks, is_cached, strict=True))
    return next((n for n, (rank_, has) in pairs if has and rank_ <= ranks[0] + AFFINITY_S), 0)


def device_cap(share: float, devices: int) -> int:
    """Number of a target's online devices that jobs of one account may hold at a time, at least 1.

    ``share``: 0 to 1.
    """
    return max(1, ceil(share * devices))


def start_s(level: int, due_s: float) -> float:
    """The start tag of a flow, without the handicap of its level."""
    return due_s - LEVELS[level].handicap_s


def charge_s(level: int, seconds: float) -> float:
    """Virtual time that ``seconds`` of work at a level cost."""
    return seconds * LEVELS[level].charge


def activate(
    level: int, due_s: float, *, now_s: float, estimate_s: float, common_s: float | None = None
) -> Advance:
    """A flow that was idle has a job again.

    Args:
        due_s: As the flow had it when it became idle; its unpaid work is still charged.
        now_s: Virtual time of the queue: the largest start tag served so far.
        common_s: Common tag of new accounts; ``None`` if the account is not new.
    """
    start = start_s(level, due_s)
    if start <= now_s or common_s is None:
        start = max(start, now_s)
        if common_s is not None:
            start = max(start, common_s)
            common_s = start + charge_s(level, estimate_s)
    return Advance(start + LEVELS[level].handicap_s, common_s)


def turn_s(due_s: float, *, now_s: float) -> float:
    """``due_s`` of a flow that is served at the virtual time ``now_s``.

    A flow falls behind while its jobs are paused or fit no free device. It gains no credit
    by this: otherwise it would later be served many times before all others.
    """
    return max(due_s, now_s)


def serve(level: int, due_s: float, *, estimate_s: float, common_s: float | None = None) -> Advance:
    """A job of the flow was claimed: its estimated seconds are charged.

    A new account takes its next turn behind those that other new accounts have taken already.

    Args:
        due_s: By :func:`turn_s`.
    """
    cost = charge_s(level, estimate_s)
    start = start_s(level, due_s) + cost
    if common_s is not None:
        start = max(start, common_s)
        common_s = start + cost
    return Advance(start + LEVELS[level].handicap_s, common_s)


def settle(level: int, due_s: float, *, now_s: float, error_s: float) -> float:
    """``due_s`` after a job took ``error_s`` seconds more than estimated, or fewer.

    A refund does not lift a flow over one that has become active meanwhile.
    """
    correction = charge_s(level, error_s)
    if correction >= 0:
        return due_s + correction
    return max(due_s + correction, min(due_s, now_s + LEVELS[level].handicap_s))


def jobs_ahead(flow: FlowState, own: int, others: Iterable[FlowState]) -> tuple[int, float]:
    """Number of other flows' jobs that are served before a waiting job, and their seconds.

    Args:
        flow: The job's flow.
        own: Jobs of the same flow that come before it.
        others: The other flows of its queue.
    """
    due_s = flow.due_s + own * charge_s(flow.level, flow.estimate_s)
    count, seconds = 0, 0.0
    for other in others:
        if other.due_s <= due_s:
            cost = max(charge_s(other.level, other.estimate_s), 0.001)
            turns = (due_s - other.due_s) / cost
            is_first = turns.is_integer() and other.number < flow.number
            served = min(other.waiting, ceil(turns) + is_first)
            count += served
            seconds += served * other.estimate_s
    return count, seconds
