"""The state of the machine around a measurement: clocks, heat, memory, and who else computed.

Sources: the kernel's ``Documentation`` of PSI (``accounting/psi.rst``), of cpufreq
(``admin-guide/pm/cpufreq.rst``), of thermal zones (``driver-api/thermal/sysfs-api.rst``) and of
``thermal_throttle``. What the system does not tell, or not to us, is left out.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from workers.engine.spent import HERE, Spent, others_s, read_spent, text_of

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
        spent: Processor time since boot, and whose it was.
    """

    at_s: float
    clocks_mhz: tuple[float, ...] = ()
    throttles: int | None = None
    temperature_c: float | None = None
    memory_stalled_us: int | None = None
    spent: Spent = field(default_factory=Spent)


def read_condition(root: Path = HERE) -> Condition:
    """The machine now. ``root`` is where its ``/proc`` and ``/sys`` are."""
    return Condition(
        at_s=time.monotonic(),
        clocks_mhz=tuple(_clocks(root)),
        throttles=_sum(root.glob("sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count")),
        temperature_c=_temperature(root),
        memory_stalled_us=_stalled(root),
        spent=read_spent(root),
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
    others = others_s(before.spent, after.spent)
    if others is not None:
        found["cotenant_cpu_share"] = _share(others / seconds / after.spent.processors)
    return found


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 4)


def _clocks(root: Path) -> Iterable[float]:
    """Of each processor in MHz: cpufreq's, else what /proc/cpuinfo says (x86)."""
    files = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    khz = [value for file in files if (value := _number(file)) is not None]
    if khz:
        return [value / 1000 for value in khz]
    text = text_of(root / "proc/cpuinfo") or ""
    return [float(mhz) for mhz in re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", text, re.MULTILINE)]


def _temperature(root: Path) -> float | None:
    zones = root.glob("sys/class/thermal/thermal_zone*")
    ours = [zone for zone in zones if _PROCESSORS.search(text_of(zone / "type") or "")]
    found = [value for zone in ours if (value := _number(zone / "temp")) is not None]
    return max(found) / 1000 if found else None


def _stalled(root: Path) -> int | None:
    text = text_of(root / "proc/pressure/memory") or ""
    found = re.search(r"^some .*total=(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else None


def _sum(files: Iterable[Path]) -> int | None:
    found = [int(value) for file in files if (value := _number(file)) is not None]
    return sum(found) if found else None


def _number(file: Path) -> float | None:
    try:
        return float(text_of(file) or "")
    except ValueError:
        return None
