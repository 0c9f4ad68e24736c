"""Processor time of trees of processes, by Linux's ``/proc``.

Unlike durations it hardly depends on what else runs on the machine, so it shows how far a machine
carries a load.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.servers import below

_TICKS = os.sysconf("SC_CLK_TCK")
#: Positions of utime, stime, cutime and cstime after the name of the program: proc_pid_stat(5).
_TIMES = slice(11, 15)
#: Positions of idle and iowait among the times of all processors, up to steal: proc_stat(5).
_IDLE, _STATES = slice(3, 5), slice(1, 9)


class ProcessorTime:
    """Processor time of named groups of processes from now on.

    Attributes:
        seconds: Seconds by name, between the start and :meth:`stop`.
        run_s: Seconds between the two.
    """

    def __init__(self, roots: Mapping[str, Sequence[int]]) -> None:
        """
        Args:
            roots: Process ids at the top of the trees of each group.
        """
        self._roots = roots
        self._before = self._now()
        self._began_s = time.monotonic()
        self.seconds: dict[str, float] = {}
        self.run_s = 0.0

    def stop(self) -> None:
        """Take the time."""
        self.run_s = time.monotonic() - self._began_s
        self.seconds = {name: seconds - self._before[name] for name, seconds in self._now().items()}

    def _now(self) -> dict[str, float]:
        return {name: sum(map(processor_s, pids)) for name, pids in self._roots.items()}


def processor_s(root: int) -> float:
    """Seconds that a process, those below it, and those of them that have ended have used so far.

    Processes that a killed one had below it are not counted.
    """
    return sum(map(_own_s, {root, *below(root)}))


class BusyShare:
    """Share of the time of all processors of this machine in which they work, from now on."""

    def __init__(self) -> None:
        self._before = _machine_ticks()

    def read(self) -> float:
        """The share until now; 1.0 means that no processor was ever free."""
        idle, every = (now - then for now, then in zip(_machine_ticks(), self._before, strict=True))
        return 1.0 - idle / max(1, every)


def _machine_ticks() -> tuple[int, int]:
    """Ticks without work, and all ticks, of all processors so far."""
    with Path("/proc/stat").open() as file:
        ticks = [int(text) for text in file.readline().split()[_STATES]]
    return sum(ticks[_IDLE]), sum(ticks)


def _own_s(pid: int) -> float:
    """Seconds of a process and of its children that have ended and were waited for."""
    with suppress(OSError):
        text = (Path("/proc") / str(pid) / "stat").read_text()
        return sum(map(int, text.rpartition(")")[2].split()[_TIMES])) / _TICKS
    return 0.0
