"""Reads the facts of a Linux machine from ``/proc`` and ``/sys``.

The first argument of every function is the root folder, normally ``/``. The result is ``None`` or
empty for facts that the kernel, container or architecture does not expose.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ARM_PARTS = {
    ("0x41", "0xd03"): "Cortex-A53",
    ("0x41", "0xd08"): "Cortex-A72",
    ("0x41", "0xd0b"): "Cortex-A76",
    ("0x41", "0xd0c"): "Neoverse N1",
    ("0x41", "0xd40"): "Neoverse V1",
    ("0x41", "0xd49"): "Neoverse N2",
    ("0x41", "0xd4f"): "Neoverse V2",
    ("0x41", "0xd83"): "Neoverse V3",
    ("0x41", "0xd8e"): "Neoverse N3",
    ("0x46", "0x001"): "A64FX",
    ("0xc0", "0xac3"): "AmpereOne",
}
_SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Processor:
    """The first processor of ``/proc/cpuinfo``."""

    name: str | None
    flags: frozenset[str]
    family: str | None
    model: str | None
    stepping: str | None
    microcode: str | None


def processor(root: Path) -> Processor:
    """The entry of the first processor in ``/proc/cpuinfo``."""
    fields: dict[str, str] = {}
    for line in (_read(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    part = (fields.get("CPU implementer", ""), fields.get("CPU part", ""))
    return Processor(
        name=fields.get("model name") or _ARM_PARTS.get(part),
        flags=frozenset((fields.get("flags") or fields.get("Features") or "").split()),
        family=fields.get("cpu family"),
        model=fields.get("model"),
        stepping=fields.get("stepping"),
        microcode=fields.get("microcode"),
    )


def usable_cores(root: Path, cpus: list[int]) -> int:
    """Physical cores among ``cpus``, at most the cgroup's CPU quota rounded down; at least 1."""
    physical = {_core_of(root, cpu) for cpu in cpus}
    quota = min(_cpu_quotas(root), default=float("inf"))
    return max(1, int(min(len(physical), quota)))


def memory_bytes(root: Path) -> int | None:
    """``MemTotal``, or the cgroup's limit if that is lower."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", _read(root / "proc/meminfo") or "", re.MULTILINE)
    total = [int(match[1]) * 1024] if match else []
    limits = (
        _integer(folder / name)
        for folder in _cgroup_folders(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
    )
    return min([*total, *(limit for limit in limits if limit)], default=None)


def caches(root: Path) -> tuple[tuple[str, int], ...]:
    """Level and kind (``L1d``, ``L2``...) to bytes of one instance, as seen from CPU 0."""
    sizes = {}
    for folder in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if level and size and size[-1] in _SUFFIXES:
            suffix = {"Data": "d", "Instruction": "i"}.get(kind or "", "")
            sizes[f"L{level}{suffix}"] = int(size[:-1]) * _SUFFIXES[size[-1]]
    return tuple(sorted(sizes.items()))


def virtualisation(root: Path, cpu: Processor) -> str | None:
    """``vm``, ``container``, both, ``none``; ``None`` if unknown."""
    firmware = (_read(root / "sys/class/dmi/id/sys_vendor") or "") + (
        _read(root / "sys/class/dmi/id/product_name") or ""
    )
    guest = "hypervisor" in cpu.flags or bool(
        re.search(
            "qemu|kvm|vmware|virtualbox|xen|amazon ec2|google compute|virtual machine",
            firmware,
            re.IGNORECASE,
        )
    )
    marks = ("vm",) if guest else ()
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        marks = (*marks, "container")
    if marks:
        return "+".join(marks)
    return "none" if cpu.family or firmware else None


def governor(root: Path) -> str | None:
    """Frequency governor of CPU 0."""
    return _read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def distribution(root: Path) -> str | None:
    """Name and version of the distribution."""
    text = _read(root / "etc/os-release") or ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return match[1] if match else None


def _core_of(root: Path, cpu: int) -> tuple[str | None, str]:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    # Without a topology, each CPU counts as a core.
    return _read(topology / "physical_package_id"), _read(topology / "core_id") or f"cpu{cpu}"


def _cpu_quotas(root: Path) -> Iterator[float]:
    for folder in _cgroup_folders(root, "cpu"):
        quota, _, period = (_read(folder / "cpu.max") or "").partition(" ")
        if quota.isdigit() and period.isdigit():
            yield int(quota) / int(period)
        limit, every = _integer(folder / "cpu.cfs_quota_us"), _integer(folder / "cpu.cfs_period_us")
        if limit and every:
            yield limit / every


def _cgroup_folders(root: Path, controller: str) -> Iterator[Path]:
    """Cgroup folders (v1, v2) that limit this process; in a container the mount point stands in."""
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            mounts = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            mounts = [f"sys/fs/cgroup/{controllers}", f"sys/fs/cgroup/{controller}"]
        else:
            continue
        inner = Path(os.path.normpath(path.lstrip("/") or "."))
        for mount in mounts:
            yield from (root / mount / part for part in (inner, *inner.parents))


def _integer(path: Path) -> int | None:
    """A positive integer, or ``None`` for a missing file, ``max`` and ``-1``."""
    text = _read(path) or ""
    return int(text) if text.isdigit() and int(text) > 0 else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip().strip("\0") or None
    except OSError:
        return None
