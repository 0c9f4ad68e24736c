"""Processor time: what a machine has spent since boot, and whose it was.

Sources: ``proc_stat(5)``, ``proc_pid_stat(5)``.
"""

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
    """Processor seconds since boot, summed over processors; ``None`` where nobody tells.

    Attributes:
        busy_s: By everybody, hypervisors' other guests included.
        stolen_s: Of these, by another guest although this one had work.
        own_s: Of these, by this process and its descendants.
        processors: Hardware threads of the machine.
    """

    busy_s: float | None = None
    stolen_s: float | None = None
    own_s: float | None = None
    processors: int = 1


def read_spent(root: Path = HERE) -> Spent:
    """So far. ``root`` is where ``/proc`` is; resolution is that of its ticks, mostly 10 ms."""
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
    """Processor seconds that somebody else took in between, other guests included."""
    if before.busy_s is None or after.busy_s is None or before.own_s is None or after.own_s is None:
        return None
    return max((after.busy_s - before.busy_s) - (after.own_s - before.own_s), 0.0)


def text_of(file: Path) -> str | None:
    """What a file of the system says; ``None`` where there is none, or not for us."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return None


def _own_s(root: Path, pid: int) -> float | None:
    """Processor seconds of a process, of what it has waited for, and of its living descendants."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for entry in (root / "proc").iterdir():
        # What is no process has no such number; one that is may end while we read.
        with suppress(ValueError, IndexError):
            number = int(entry.name)
            fields = (text_of(entry / "stat") or "").rpartition(")")[2].split()
            parents[number] = int(fields[1])
            spent[number] = sum(int(field) for field in fields[11:15])
    if pid not in spent:
        return None
    family = {pid}
    while grown := {one for one, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(spent[one] for one in family) / _ticks()


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")
