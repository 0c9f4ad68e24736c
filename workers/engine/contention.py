"""What else the machine was doing during a measurement."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")
_STAT = Path("/proc/stat")
#: Place of "steal" on the first line of /proc/stat, behind the word "cpu": see ``proc_stat(5)``.
_STEAL = 7


@dataclass(frozen=True, slots=True)
class Load:
    """The machine at one moment; ``None`` where the system does not tell.

    Attributes:
        average: One-minute load average.
        stalled_us: Microseconds since boot in which some task waited for a core (Linux pressure
            stall information, ``some`` of ``cpu``).
        stolen_s: Seconds since boot, summed over processors, in which a hypervisor ran another
            guest although this one had work.
    """

    average: float | None
    stalled_us: int | None
    stolen_s: float | None = None


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
    return Load(average, int(found[1]) if found else None, _stolen_s())


def stall_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds`` in which some task waited for a core, 0 to 1."""
    if before.stalled_us is None or after.stalled_us is None or seconds <= 0:
        return None
    return min(max((after.stalled_us - before.stalled_us) / 1e6 / seconds, 0.0), 1.0)


def stolen_share(before: Load, after: Load, seconds: float) -> float | None:
    """Share of ``seconds`` for which some processor was another guest's, 0 to 1."""
    if before.stolen_s is None or after.stolen_s is None or seconds <= 0:
        return None
    return min(max((after.stolen_s - before.stolen_s) / seconds, 0.0), 1.0)


def _stolen_s() -> float | None:
    try:
        with _STAT.open() as lines:
            ticks = lines.readline().split()[1:]
        return int(ticks[_STEAL]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return None
