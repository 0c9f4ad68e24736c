"""What else the machine was doing during a measurement."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from workers.engine.spent import HERE, Spent, others_s, read_spent, text_of


@dataclass(frozen=True, slots=True)
class Load:
    """The machine at one moment; ``None`` where the system does not tell.

    Attributes:
        average: One-minute load average.
        stalled_us: Microseconds since boot in which some task waited for a core (Linux pressure
            stall information, ``some`` of ``cpu``).
        spent: Processor time, and whose it was.
    """

    average: float | None
    stalled_us: int | None
    spent: Spent = field(default_factory=Spent)


def read_load(root: Path = HERE) -> Load:
    """The machine now. ``root`` is where its ``/proc`` is."""
    try:
        average: float | None = os.getloadavg()[0]
    except OSError:
        average = None
    pressure = text_of(root / "proc/pressure/cpu") or ""
    found = re.search(r"^some .*total=(\d+)", pressure, re.MULTILINE)
    return Load(average, int(found[1]) if found else None, read_spent(root))


def stall_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds`` in which some task waited for a core, 0 to 1: others' or our own."""
    if before.stalled_us is None or after.stalled_us is None:
        return None
    return _share((after.stalled_us - before.stalled_us) / 1e6, seconds)


def company_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds``, 0 to 1, in which somebody else may have kept a task from a core.

    It is at most the time in which any task waited: others on cores that nobody wants do no harm.
    And at most the processor time that others took: sessions with more threads than there are
    cores wait for themselves, which is their own affair.
    """
    others = others_s(before.spent, after.spent)
    shares = (
        stall_share(before, after, seconds),
        None if others is None else _share(others, seconds),
    )
    return min((share for share in shares if share is not None), default=None)


def stolen_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds`` for which some processor was another guest's, 0 to 1."""
    if before.spent.stolen_s is None or after.spent.stolen_s is None:
        return None
    return _share(after.spent.stolen_s - before.spent.stolen_s, seconds)


def _share(part_s: float, seconds: float) -> float | None:
    return min(max(part_s / seconds, 0.0), 1.0) if seconds > 0 else None
