"""What else the machine was doing during a measurement."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")


@dataclass(frozen=True, slots=True)
class Load:
    """The machine at one moment; ``None`` where the system does not tell.

    Attributes:
        average: One-minute load average.
        stalled_us: Microseconds since boot in which some task waited for a core (Linux pressure
            stall information, ``some`` of ``cpu``).
    """

    average: float | None
    stalled_us: int | None


def read_load() -> Load:
    """The machine now."""
    try:
        average: float | None = os.getloadavg()[0]
    except OSError:
        average = None
    try:
        found = re.search(r"^some .*total=(\d+)", _PRESSURE.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return Load(average, int(found[1]) if found else None)


def stall_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds`` in which some task waited for a core, 0 to 1."""
    if before.stalled_us is None or after.stalled_us is None or seconds <= 0:
        return None
    return min(max((after.stalled_us - before.stalled_us) / 1e6 / seconds, 0.0), 1.0)
