"""Reads of the fleet: devices by target and state, their jobs, queues, leases and failures."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from registry.selectors.access import Actor, readable_jobs
from registry.selectors.work.device import devices
from registry.selectors.work.queue import COUNTED_JOBS, Wait, waits_of
from registry.states import AttemptEnd, DeviceHealth, DeviceState, JobState
from registry.tables import Device, Job, JobAttempt, Target

#: Most jobs or leases of a list; queued jobs that are searched for readable ones.
_LISTED_JOBS, _SEARCHED_JOBS = 20, 100
_FAILURES = timedelta(hours=24)
#: Read by separate queries, because the plan of a join would depend on the sizes of the tables.
_RELATED = ("revision__mlmodel__namespace", "target", "device")
#: A time before the end of any lease.
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
#: States of devices that take jobs.
_WORKING = (DeviceState.ACTIVE,)


@dataclass(frozen=True, slots=True)
class DeviceCounts:
    """Devices of a target.

    Attributes:
        states: Number of devices by state, or by health for devices that get jobs; without zeros.
        total: Number of devices that are not retired.
        busy: Number of devices that run a job.
        waiting: Queued jobs, counted to :data:`registry.selectors.work.queue.COUNTED_JOBS`.
    """

    target: Target
    states: dict[str, int]
    total: int
    busy: int
    waiting: int

    @property
    def is_counted(self) -> bool:
        """Whether ``waiting`` is the exact number."""
        return self.waiting < COUNTED_JOBS


@dataclass(frozen=True, slots=True)
class DeviceWork:
    """A device with the job that it runs. ``is_hidden`` is true if the viewer may not read the
    job."""

    device: Device
    job: Job | None = None
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class JobLease:
    """A lease. ``left_s`` are the seconds until it ends, negative after that. ``is_hidden`` is as
    of :class:`DeviceWork`."""

    job: Job
    left_s: float
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Attempts of the last day that failed for the same reason on the same target.

    ``reason`` is a failure class, or ``lease lost``.
    """

    reason: str
    target: str
    count: int
    devices: int
    newest_at: datetime


def state_of(device: Device) -> str:
    """State of a device in one word: its state, or its health if the state is ``active``."""
    return device.state if device.state not in _WORKING else device.health


def devices_in(*, target: str = "", state: str = "", name: str = "") -> QuerySet[Device]:
    """Devices in the order of their targets, filtered.

    Args:
        target: Slug.
        state: A word of :func:`state_of`. By default, all devices that are not retired.
        name: Part of the name, case-insensitive.
    """
    rows = devices().select_related("target", "owner").order_by("target_id", "name")
    if target:
        rows = rows.filter(target__slug=target)
    if name:
        rows = rows.filter(name__icontains=name)
    if not state:
        return rows.exclude(state=DeviceState.RETIRED)
    if state in DeviceHealth.values:
        return rows.filter(state__in=_WORKING, health=state)
    return rows.filter(state=state)


def counts_by_target(targets: Iterable[Target]) -> list[DeviceCounts]:
    """Devices and waiting jobs of each target; three queries and one for each target."""
    shown = list(targets)
    grouped: dict[int, dict[str, int]] = defaultdict(dict)
    rows = Device.objects.filter(target__in=shown).exclude(state=DeviceState.RETIRED)
    for key, state, health, count in rows.values_list("target", "state", "health").annotate(
        count=Count("pk")
    ):
        word = state if state not in _WORKING else health
        grouped[key][word] = grouped[key].get(word, 0) + count
    leased = leased_jobs().filter(target__in=shown, device__isnull=False)
    busy = dict(leased.values_list("target").annotate(count=Count("device", distinct=True)))
    return [
        DeviceCounts(
            target=target,
            states=grouped[target.pk],
            total=sum(grouped[target.pk].values()),
            busy=busy.get(target.pk, 0),
            waiting=waiting_jobs(target),
        )
        for target in shown
    ]


def leased_jobs() -> QuerySet[Job]:
    """All leased jobs. The condition on the end of leases lets databases use its index."""
    return Job.objects.filter(state=JobState.LEASED, lease_until__gt=_BEGINNING)


def waiting_jobs(target: Target) -> int:
    """Number of queued jobs of a target, counted to the limit."""
    rows = Job.objects.filter(state=JobState.QUEUED, target=target).order_by("notified_at", "id")
    return rows[:COUNTED_JOBS].count()


def work_of(actor: Actor, shown: Sequence[Device]) -> list[DeviceWork]:
    """The job of each device at present, in the order of the devices."""
    leased = leased_jobs().filter(device__in=[row.pk for row in shown])
    jobs = {job.device_id: job for job in leased.prefetch_related(*_RELATED)}
    readable = _readable(actor, jobs.values())
    return [
        DeviceWork(row, job, job.pk not in readable)
        if (job := jobs.get(row.pk))
        else DeviceWork(row)
        for row in shown
    ]


def queue_of(actor: Actor, target: Target | None = None) -> list[tuple[Job, Wait | None]]:
    """Readable jobs that have waited longest, with their waits, by position.

    Only the first :data:`_SEARCHED_JOBS` queued jobs are searched.
    """
    rows = Job.objects.filter(state=JobState.QUEUED)
    if target:
        rows = rows.filter(target=target).order_by("notified_at", "id")
    else:
        rows = rows.order_by("id")
    first = list(rows.prefetch_related(*_RELATED)[:_SEARCHED_JOBS])
    readable = _readable(actor, first)
    jobs = [job for job in first if job.pk in readable][:_LISTED_JOBS]
    waits = waits_of(jobs)
    placed = [(job, waits.get(job.pk)) for job in jobs]
    return sorted(placed, key=lambda pair: pair[1].position if pair[1] else 0)


def leases(actor: Actor, target: Target | None = None) -> list[JobLease]:
    """Leases, by their ends."""
    now = timezone.now()
    rows = leased_jobs()
    if target:
        rows = rows.filter(target=target)
    jobs = list(rows.prefetch_related(*_RELATED).order_by("lease_until")[:_LISTED_JOBS])
    readable = _readable(actor, jobs)
    return [
        JobLease(job, (job.lease_until - now).total_seconds(), job.pk not in readable)
        for job in jobs
        if job.lease_until
    ]


def failures(target: Target | None = None) -> list[FailureCount]:
    """Failed and lost attempts of the last day by reason and target, the most frequent first."""
    rows = JobAttempt.objects.filter(
        end__in=[AttemptEnd.FAILED, AttemptEnd.LOST], ended_at__gte=timezone.now() - _FAILURES
    )
    if target:
        rows = rows.filter(target=target)
    groups = rows.values_list("end", "failure_class", "target__slug").annotate(
        count=Count("pk"), devices=Count("device", distinct=True), newest=Max("ended_at")
    )
    counts = [
        FailureCount(
            "lease lost" if end == AttemptEnd.LOST else reason, slug or "hub", count, held, newest
        )
        for end, reason, slug, count, held, newest in groups
    ]
    return sorted(counts, key=lambda row: (-row.count, row.reason, row.target))


def _readable(actor: Actor, jobs: Iterable[Job]) -> set[int]:
    keys = [job.pk for job in jobs]
    return set(readable_jobs(actor).filter(pk__in=keys).values_list("pk", flat=True))
