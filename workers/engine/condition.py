"""The state of the machine around a measurement: clocks, heat, memory, and who else computed.

Sources: ``proc_stat(5)``, ``proc_pid_stat(5)``, the kernel's ``Documentation`` of PSI
(``accounting/psi.rst``), of cpufreq (``admin-guide/pm/cpufreq.rst``), of thermal zones
(``driver-api/thermal/sysfs-api.rst``) and of ``thermal_throttle``. What the system does not tell,
or not to us, is left out.
"""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

_HERE = Path("/")
#: Columns of a ``cpu`` line of /proc/stat that are not idle: user, nice, system, irq, softirq and
#: steal; guests are counted with user.
_BUSY = (0, 1, 2, 5, 6, 7)
#: Thermal zones that are a processor's.
_PROCESSORS = re.compile(r"x86_pkg_temp|coretemp|cpu|soc", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condition:
    """The machine at one moment; ``None`` where it does not tell.

    Attributes:
        at_s: Moment, in seconds of some clock.
        clocks_mhz: Of each processor now.
        throttles: Times any core or package was slowed for its heat or power since boot.
        temperature_c: Of the hottest processor.
        memory_stalled_us: Since boot, in which some task waited for memory.
        busy_s: Processor seconds spent since boot by everybody, hypervisors' other guests included.
        own_s: Of these, by this process and its descendants.
        processors: Hardware threads of the machine.
    """

    at_s: float
    clocks_mhz: tuple[float, ...] = ()
    throttles: int | None = None
    temperature_c: float | None = None
    memory_stalled_us: int | None = None
    busy_s: float | None = None
    own_s: float | None = None
    processors: int = 1


def read_condition(root: Path = _HERE) -> Condition:
    """The machine now. ``root`` is where its ``/proc`` and ``/sys`` are."""
    busy_s, processors = _busy(root)
    return Condition(
        at_s=time.monotonic(),
        clocks_mhz=tuple(_clocks(root)),
        throttles=_sum(root.glob("sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")),
        temperature_c=_temperature(root),
        memory_stalled_us=_stalled(root),
        busy_s=busy_s,
        own_s=_own_s(root, os.getpid()) if busy_s is not None else None,
        processors=processors,
    )


def quality_between(before: Condition, after: Condition) -> dict[str, Any]:
    """Of ``quality`` in ``hpcfair.bench/1``, what two moments around a measurement say."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    clocks = (*before.clocks_mhz, *after.clocks_mhz)
    found: dict[str, Any] = {}
    if clocks:
        found |= {"clock_min_mhz": min(clocks), "clock_max_mhz": max(clocks)}
        found["clock_mhz"] = round(mean(after.clocks_mhz or clocks), 1)
    if before.throttles is not None and after.throttles is not None:
        found["throttled"] = after.throttles > before.throttles
    if after.temperature_c is not None:
        found["temperature_c"] = after.temperature_c
    if before.memory_stalled_us is not None and after.memory_stalled_us is not None:
        stalled_s = (after.memory_stalled_us - before.memory_stalled_us) / 1e6
        found["memory_stall_share"] = _share(stalled_s / seconds)
    others_s = _others_s(before, after)
    if others_s is not None:
        found["cotenant_cpu_share"] = _share(others_s / seconds / after.processors)
    return found


def _others_s(before: Condition, after: Condition) -> float | None:
    """Processor seconds that somebody else took in between."""
    if before.busy_s is None or after.busy_s is None or before.own_s is None or after.own_s is None:
        return None
    return (after.busy_s - before.busy_s) - (after.own_s - before.own_s)


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def _clocks(root: Path) -> Iterable[float]:
    """Of each processor in MHz: cpufreq's, else what /proc/cpuinfo says (x86)."""
    files = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    khz = [value for file in files if (value := _number(file)) is not None]
    if khz:
        return [value / 1000 for value in khz]
    text = _text(root / "proc/cpuinfo") or ""
    return [float(mhz) for mhz in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]


def _temperature(root: Path) -> float | None:
    zones = root.glob("sys/class/thermal/thermal_zone*")
    ours = [zone for zone in zones if _PROCESSORS.search(_text(zone / "type") or "")]
    found = [value for zone in ours if (value := _number(zone / "temp")) is not None]
    return max(found) / 1000 if found else None


def _stalled(root: Path) -> int | None:
    text = _text(root / "proc/pressure/memory") or ""
    found = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None


def _busy(root: Path) -> tuple[float | None, int]:
    lines = (_text(root / "proc/stat") or "").splitlines()
    processors = sum(re.match(r"cpu\d", line) is not None for line in lines)
    try:
        columns = [int(word) for word in lines[0].split()[1:]]
        return sum(columns[i] for i in _BUSY) / _ticks(), max(processors, 1)
    except (IndexError, ValueError):
        return None, max(processors, 1)


def _own_s(root: Path, pid: int) -> float | None:
    """Processor seconds of a process, of what it has waited for, and of its living descendants."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for entry in root.glob("proc/[0-9]*/stat"):
        # A process may end while we read.
        with suppress(ValueError, IndexError):
            fields = (_text(entry) or "").rpartition(")")[2].split()
            number = int(entry.parent.name)
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


def _sum(files: Iterable[Path]) -> int | None:
    found = [int(value) for file in files if (value := _number(file)) is not None]
    return sum(found) if found else None


def _number(file: Path) -> float | None:
    try:
        return float(_text(file) or "")
    except ValueError:
        return None


def _text(file: Path) -> str | None:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return None
