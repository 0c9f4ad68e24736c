"""Processor time of a machine since boot, by owner (``proc_stat(5)``, ``proc_pid_stat(5)``)."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path("/")
#: Columns of the first line of /proc/stat, behind the word "cpu", that are not idle: user, nice,
#: system, irq, softirq and steal; guests are counted with user.
_BUSY = (0, 1, 2, 5, 6, 7)
_STEAL = 7


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor seconds since boot, summed over processors; ``None`` if unknown.

    Attributes:
        busy_s: Of all processes, including other guests of the hypervisor.
        stolen_s: Part of it that another guest used although this one had work.
        own_s: Part of it that this process and its descendants used.
        processors: Hardware threads of the machine.
    """

    busy_s: float | None = None
    stolen_s: float | None = None
    own_s: float | None = None
    processors: int = 1


def read_spent(root: Path = HERE) -> Spent:
    """Processor time until now, with the resolution of ``/proc``, mostly 10 ms. ``root`` is the
    folder that holds ``/proc``."""
    lines = (text_of(root / "proc/stat") or "").splitlines()
    processors = max(sum(line[:3] == "cpu" and line[3:4].isdigit() for line in lines), 1)
    try:
        columns = [int(word) for word in lines[0].split()[1:]]
        busy_s = sum(columns[at] for at in _BUSY) / _ticks()
        stolen_s = columns[_STEAL] / _ticks()
    except (IndexError, ValueError):
        return Spent(processors=processors)
    return Spent(busy_s, stolen_s, _own_s(root, os.getpid()), processors)


def others_s(before: Spent, after: Spent) -> float | None:
    """Processor seconds of others in between, including other guests; ``None`` if unknown."""
    if before.busy_s is None or after.busy_s is None or before.own_s is None or after.own_s is None:
        return None
    return max((after.busy_s - before.busy_s) - (after.own_s - before.own_s), 0.0)


def text_of(file: Path) -> str | None:
    """Content of a system file; ``None`` if it is missing or not readable."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return None


def _own_s(root: Path, pid: int) -> float | None:
    """Processor seconds of a process, its reaped children and its living descendants."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for entry in (root / "proc").iterdir():
        # Entries that are not processes have no number; processes may end while they are read.
        with suppress(ValueError, IndexError):
            number = int(entry.name)
            fields = (text_of(entry / "stat") or "").rpartition(")")[2].split()
            parents[number] = int(fields[1])
            spent[number] = sum(int(field) for field in fields[11:15])
    if pid not in spent:
        return None
    family = {pid}
    while children := {one for one, parent in parents.items() if parent in family} - family:
        family |= children
    return sum(spent[one] for one in family) / _ticks()


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")
