"""The state of the machine around a measurement: clocks, heat, memory, other load.

Sources: the kernel's ``Documentation`` of PSI (``accounting/psi.rst``), of cpufreq
(``admin-guide/pm/cpufreq.rst``), of thermal zones (``driver-api/thermal/sysfs-api.rst``) and of
``thermal_throttle``. Values that the system does not provide, or not to this user, are left out.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from workers.engine.spent import HERE, Spent, others_s, read_spent, text_of

#: Names of processors' thermal zones.
_PROCESSORS = re.compile(r"x86_pkg_temp|coretemp|cpu|soc", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condition:
    """The machine at one moment; ``None`` for unknown values.

    Attributes:
        at_s: The moment, in seconds of a monotonic clock.
        clocks_mhz: Frequency of each processor.
        throttles: Times that any core or package was throttled since boot, for heat or power.
        temperature_c: Of the hottest processor.
        memory_stalled_us: Microseconds since boot in which some task waited for memory.
        spent: Processor time since boot.
    """

    at_s: float
    clocks_mhz: tuple[float, ...] = ()
    throttles: int | None = None
    temperature_c: float | None = None
    memory_stalled_us: int | None = None
    spent: Spent = field(default_factory=Spent)


def read_condition(root: Path = HERE) -> Condition:
    """The machine now. ``root`` is the folder that holds ``/proc`` and ``/sys``."""
    return Condition(
        at_s=time.monotonic(),
        clocks_mhz=tuple(_clocks(root)),
        throttles=_sum(root.glob("sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")),
        temperature_c=_temperature(root),
        memory_stalled_us=_stalled(root),
        spent=read_spent(root),
    )


def quality_between(before: Condition, after: Condition) -> dict[str, Any]:
    """The fields of ``quality`` in ``hpcfair.bench/1`` that follow from two moments."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    clocks = (*before.clocks_mhz, *after.clocks_mhz)
    quality: dict[str, Any] = {}
    if clocks:
        quality |= {"clock_min_mhz": min(clocks), "clock_max_mhz": max(clocks)}
        quality["clock_mhz"] = round(mean(after.clocks_mhz or clocks), 1)
    if before.throttles is not None and after.throttles is not None:
        quality["throttled"] = after.throttles > before.throttles
    if after.temperature_c is not None:
        quality["temperature_c"] = after.temperature_c
    if before.memory_stalled_us is not None and after.memory_stalled_us is not None:
        stalled_s = (after.memory_stalled_us - before.memory_stalled_us) / 1e6
        quality["memory_stall_share"] = _share(stalled_s / seconds)
    others = others_s(before.spent, after.spent)
    if others is not None:
        quality["cotenant_cpu_share"] = _share(others / seconds / after.spent.processors)
    return quality


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def _clocks(root: Path) -> Iterable[float]:
    """Frequencies from cpufreq or else /proc/cpuinfo (x86)."""
    files = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    khz = [value for file in files if (value := _number(file)) is not None]
    if khz:
        return [value / 1000 for value in khz]
    text = text_of(root / "proc/cpuinfo") or ""
    return [float(mhz) for mhz in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]


def _temperature(root: Path) -> float | None:
    zones = root.glob("sys/class/thermal/thermal_zone*")
    processors = [zone for zone in zones if _PROCESSORS.search(text_of(zone / "type") or "")]
    milli_c = [value for zone in processors if (value := _number(zone / "temp")) is not None]
    return max(milli_c) / 1000 if milli_c else None


def _stalled(root: Path) -> int | None:
    text = text_of(root / "proc/pressure/memory") or ""
    total = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
    return int(total[1]) if total else None


def _sum(files: Iterable[Path]) -> int | None:
    values = [int(value) for file in files if (value := _number(file)) is not None]
    return sum(values) if values else None


def _number(file: Path) -> float | None:
    try:
        return float(text_of(file) or "")
    except ValueError:
        return None
