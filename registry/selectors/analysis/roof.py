"""Reads of the measured roofs of devices.

Roofs are facts of machines, not of models: everybody who may see a device may see them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from registry.tables import Build, Device, Job, Roof, RoofSet, Target

#: Levels of memory, nearest first; the last one is main memory.
LEVELS = ("L1", "L2", "L3", "memory")
MEMORY = LEVELS[-1]
#: Digests of tools that a job is told; a device rarely returns to older ones.
_KNOWN_TOOLS = 20
#: Roofs that other work on the machine disturbed are measured again after this time, until there
#: are this many measurements with the same tools.
_REPEAT_AFTER = timedelta(hours=6)
_MOST_MEASUREMENTS = 4


@dataclass(frozen=True, slots=True)
class Roofs:
    """The roofs of one device.

    Attributes:
        roof_set: The measurement, with its device.
        compute: Precision to its roof, in operations per second, fastest first.
        memory: Level of :data:`LEVELS` to its roof, in bytes per second, nearest first.
    """

    roof_set: RoofSet
    compute: Mapping[str, Roof] = field(default_factory=dict)
    memory: Mapping[str, Roof] = field(default_factory=dict)

    @property
    def device(self) -> Device:
        return self.roof_set.device

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second of main memory; ``None`` if it was not measured."""
        roof = self.memory.get(MEMORY)
        return roof.per_second if roof else None

    def peak(self, precision: str) -> float | None:
        """Operations per second in a precision; ``None`` if they were not measured."""
        roof = self.compute.get(precision)
        return roof.per_second if roof else None

    def ridge(self, precision: str) -> float | None:
        """Operations per byte from which arithmetic, not main memory, is the limit."""
        peak, bandwidth = self.peak(precision), self.bandwidth
        return peak / bandwidth if peak and bandwidth else None


def roof_tools(job: Job) -> list[str]:
    """Digests of the tools with which the roofs of the job's device need not be measured again."""
    rows = RoofSet.objects.filter(device=job.device_id) if job.device_id else RoofSet.objects.none()
    disturbed = Roof.objects.filter(roof_set=OuterRef("pk"), is_disturbed=True)
    rows = rows.annotate(is_disturbed=Exists(disturbed)).order_by("-id")
    by_digest: dict[str, list[RoofSet]] = {}
    for row in rows.only("tools_sha256", "created_at")[:_KNOWN_TOOLS]:
        by_digest.setdefault(row.tools_sha256, []).append(row)
    return [digest for digest, sets in by_digest.items() if not _are_due(sets)]


def _are_due(sets: Sequence[RoofSet]) -> bool:
    """Whether roofs are to be measured again; ``sets`` are those of the same tools, newest
    first."""
    newest = sets[0]
    return (
        bool(newest.is_disturbed)  # type: ignore[attr-defined]  # annotated
        and newest.created_at < timezone.now() - _REPEAT_AFTER
        and len(sets) < _MOST_MEASUREMENTS
    )


def roofs_of_device(device: Device) -> Roofs | None:
    """The newest roofs of a device; ``None`` if none were measured."""
    return _newest(RoofSet.objects.filter(device=device))


def roofs_of_target(target: Target) -> Roofs | None:
    """The newest roofs of a trusted device of a target; ``None`` if none were measured."""
    return _newest(RoofSet.objects.filter(device__target=target, device__is_trusted=True))


def roofs_for(build: Build) -> Roofs | None:
    """Roofs to hold a build against: those of the device that measured it, else of its target."""
    device = build.record.device
    own = roofs_of_device(device) if device is not None and device.is_trusted else None
    return own or roofs_of_target(build.target)


def _newest(rows: QuerySet[RoofSet]) -> Roofs | None:
    with_roofs = rows.filter(roofs__isnull=False).select_related("device__target")
    newest = with_roofs.order_by("-id").first()
    return None if newest is None else _roofs(newest, newest.roofs.all())


def _roofs(roof_set: RoofSet, rows: Iterable[Roof]) -> Roofs:
    every = list(rows)
    compute = sorted((roof for roof in every if roof.precision), key=lambda one: -one.per_second)
    memory = sorted((roof for roof in every if roof.level), key=lambda one: LEVELS.index(one.level))
    return Roofs(
        roof_set,
        {roof.precision: roof for roof in compute},
        {roof.level: roof for roof in memory},
    )
