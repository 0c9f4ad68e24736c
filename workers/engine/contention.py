"""Other load on the machine during a measurement, and its effect on rounds."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from hpcfair.measurement.types import Interval
from workers.engine.spent import HERE, Spent, others_s, read_spent, text_of

#: Relative error that contention may cause in a ratio if it disturbs most rounds alike, which no
#: interval shows: the build with more threads loses more.
CONTENTION_ERROR = 0.2


@dataclass(frozen=True, slots=True)
class Load:
    """The machine at one moment; ``None`` for unknown values.

    Attributes:
        average: One-minute load average.
        stalled_us: Microseconds since boot in which some task waited for a core (Linux pressure
            stall information, ``some`` of ``cpu``).
        spent: Processor time since boot.
    """

    average: float | None
    stalled_us: int | None
    spent: Spent = field(default_factory=Spent)


def read_load(root: Path = HERE) -> Load:
    """The machine now. ``root`` is the folder that holds ``/proc``."""
    try:
        average: float | None = os.getloadavg()[0]
    except OSError:
        average = None
    pressure = text_of(root / "proc/pressure/cpu") or ""
    total = re.search(r"^some .*total=(\d+)", pressure, re.MULTILINE)
    return Load(average, int(total[1]) if total else None, read_spent(root))


def stall_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds``, 0 to 1, in which some task waited for a core: others' or our own."""
    if before.stalled_us is None or after.stalled_us is None:
        return None
    return _share((after.stalled_us - before.stalled_us) / 1e6, seconds)


def contention_share(before: Load, after: Load, seconds: float) -> float | None:
    """Upper bound on the share of ``seconds``, 0 to 1, in which others kept a task from a core.

    The smaller of two bounds: the time in which any task waited, since others do no harm on idle
    cores; and the processor time of others, since a session with more threads than cores waits for
    itself.
    """
    others = others_s(before.spent, after.spent)
    shares = (
        stall_share(before, after, seconds),
        None if others is None else _share(others, seconds),
    )
    return min((share for share in shares if share is not None), default=None)


def stolen_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds``, 0 to 1, in which another guest had some processor."""
    if before.spent.stolen_s is None or after.spent.stolen_s is None:
        return None
    return _share(after.spent.stolen_s - before.spent.stolen_s, seconds)


def can_explain(ratio: Interval) -> bool:
    """Whether contention alone can explain a disturbed ratio."""
    return ratio.high >= 1 - CONTENTION_ERROR and ratio.low <= 1 + CONTENTION_ERROR


def _share(part_s: float, seconds: float) -> float | None:
    return min(max(part_s / seconds, 0.0), 1.0) if seconds > 0 else None
