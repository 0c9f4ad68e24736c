"""Energy consumption of a candidate's runs, by the device's counters.

The engine reads those of processor packages (RAPL, Intel and AMD). Source: the kernel's
``Documentation/power/powercap/powercap.rst``. Only root may read them (CVE-2020-8694): without
permission there is no value, and none is estimated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workers.engine.clock import Clock
from workers.engine.ports import EnergyCounter

_POWERCAP = Path("/sys/class/powercap")
#: Whole packages; zones inside one would be counted twice.
_PACKAGE = re.compile(r"package-\d+")
#: Shortest measured time. The counters are updated about every millisecond: a step is then at most
#: a hundredth of the value.
_SHORTEST_S = 0.1


@dataclass(frozen=True, slots=True)
class Zone:
    """Counter of a package; a :class:`workers.engine.ports.EnergyCounter`."""

    counter: Path
    range_uj: int
    source: str = "rapl-package"

    def read(self) -> int:
        return int(self.counter.read_text())


@cache
def zones(root: Path = _POWERCAP) -> tuple[Zone, ...]:
    """The packages with readable counters."""
    readable = []
    for folder in sorted(root.glob("*-rapl:*")):
        try:
            if not _PACKAGE.fullmatch((folder / "name").read_text().strip()):
                continue
            zone = Zone(folder / "energy_uj", int((folder / "max_energy_range_uj").read_text()))
            zone.read()
        except (OSError, ValueError):
            continue
        readable.append(zone)
    return tuple(readable)


@dataclass(slots=True)
class EnergyMeter:
    """Adds up the energy of the machine while the candidate ran.

    Energy of other processes and idle power are included. ``joules``, ``runs`` and ``window_s`` are
    energy, number of runs and duration of all blocks so far.
    """

    clock: Clock
    counters: Sequence[EnergyCounter]
    joules: float = 0.0
    runs: int = 0
    window_s: float = 0.0
    _before: list[int] = field(default_factory=list)
    _started_s: float = 0.0

    def start(self) -> None:
        """Begin a block of the candidate."""
        if self.counters:
            self._before, self._started_s = self._now(), self.clock.monotonic()

    def stop(self, runs: int) -> None:
        """End the block after ``runs`` runs, warm-up included."""
        if not self.counters:
            return
        after = self._now()
        if len(after) != len(self._before) or not after:
            return
        for counter, first, last in zip(self.counters, self._before, after, strict=True):
            self.joules += ((last - first) % counter.range_uj) / 1e6
        self.runs += runs
        self.window_s += self.clock.monotonic() - self._started_s

    def as_dict(self) -> dict[str, Any]:
        """``energy`` of ``hpcfair.bench/1``; empty if nothing, or not enough, was measured."""
        if not self.runs or self.window_s < _SHORTEST_S or self.joules <= 0:
            return {}
        return {
            "method": "measured",
            "source": "+".join(sorted({counter.source for counter in self.counters})),
            "joules_per_run": self.joules / self.runs,
            "window_s": self.window_s,
        }

    def _now(self) -> list[int]:
        """All counters in microjoules; empty if one cannot be read any more."""
        try:
            return [counter.read() for counter in self.counters]
        except (OSError, ValueError):
            return []
