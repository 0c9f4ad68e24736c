"""Reads of attempts at jobs: history of a device, utilisation over time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from registry.states import DeviceState
from registry.tables import Device, JobAttempt, Target

#: Attempts of one kind that a reading of a window looks at; a busier window is shortened.
MOST_ATTEMPTS = 20_000


@dataclass(frozen=True, slots=True)
class UtilisationBin:
    """A part of a window.

    Attributes:
        busy_s: Seconds that devices held jobs in it.
        device_s: Seconds that its devices had, from when each joined.
    """

    busy_s: float
    device_s: float

    @property
    def share(self) -> float | None:
        """Busy share, 0 to 1; ``None`` before the first device joined."""
        # Two leases of one device overlap for a moment if one ends while the next is claimed.
        return min(1.0, self.busy_s / self.device_s) if self.device_s else None


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Bins of a window, the oldest first, for each target by its slug.

    ``since`` is later than requested if there were more than :data:`MOST_ATTEMPTS` attempts.
    """

    since: datetime
    until: datetime
    targets: dict[str, list[UtilisationBin]]


def attempts_of(device: Device) -> QuerySet[JobAttempt]:
    """Attempts of a device, each with its job and model."""
    return JobAttempt.objects.filter(device=device).select_related(
        "job__revision__mlmodel__namespace", "job__target"
    )


def attempts_between(
    since: datetime, *, target: Target | None = None, device: Device | None = None
) -> list[JobAttempt]:
    """Attempts that ran at some time since then: running ones, and those that ended, newest first.

    At most :data:`MOST_ATTEMPTS` of each.
    """
    rows = JobAttempt.objects.all()
    if target:
        rows = rows.filter(target=target)
    if device:
        rows = rows.filter(device=device)
    ended = rows.filter(ended_at__gte=since).order_by("-ended_at")
    running = rows.filter(ended_at__isnull=True)
    return [*running[:MOST_ATTEMPTS], *ended[:MOST_ATTEMPTS]]


def utilisation(
    *,
    hours: float = 24.0,
    bins: int = 24,
    target: Target | None = None,
    device: Device | None = None,
) -> Utilisation:
    """Busy share of the devices' time in the last hours, by target; retired devices are left out.

    Args:
        target: Only of this target.
        device: Only of this device, under its target's slug.
    """
    until = timezone.now()
    since = until - timedelta(hours=hours)
    rows = Device.objects.select_related("target").exclude(state=DeviceState.RETIRED)
    if target:
        rows = rows.filter(target=target)
    if device:
        rows = rows.filter(pk=device.pk)
    members = list(rows)
    attempts = attempts_between(since, target=target, device=device)
    if sum(attempt.ended_at is not None for attempt in attempts) == MOST_ATTEMPTS:
        since = attempts[-1].ended_at or since
    return Utilisation(since, until, _binned(members, attempts, since, until, bins))


def _binned(
    members: Iterable[Device],
    attempts: Iterable[JobAttempt],
    since: datetime,
    until: datetime,
    bins: int,
) -> dict[str, list[UtilisationBin]]:
    slugs = {device.pk: device.target.slug for device in members}
    busy: dict[str, list[float]] = defaultdict(lambda: [0.0] * bins)
    present: dict[str, list[float]] = defaultdict(lambda: [0.0] * bins)
    window = _Window(since, (until - since) / bins)
    for device in members:
        window.add(present[device.target.slug], device.created_at, until)
    for attempt in attempts:
        if slug := slugs.get(attempt.device_id or 0):
            window.add(busy[slug], attempt.started_at, attempt.ended_at or until)
    return {
        slug: [
            UtilisationBin(busy_s, device_s)
            for busy_s, device_s in zip(busy[slug], present[slug], strict=True)
        ]
        for slug in sorted(present)
    }


@dataclass(frozen=True, slots=True)
class _Window:
    """Bins of one width, the first of which begins at ``since``."""

    since: datetime
    width: timedelta

    def add(self, seconds: list[float], start: datetime, end: datetime) -> None:
        """Add the time from ``start`` to ``end`` to the bins that it falls into."""
        first = max(0, (start - self.since) // self.width)
        last = min(len(seconds) - 1, (end - self.since) // self.width)
        for number in range(first, last + 1):
            begin = self.since + number * self.width
            overlap = min(end, begin + self.width) - max(start, begin)
            seconds[number] += max(0.0, overlap.total_seconds())
