"""Measures the roofs of this machine: the speed of its arithmetic and of its memory.

Arithmetic is measured by products of matrices in each precision, in each installed runtime with
library kernels; the fastest counts. Memory is measured by copies and triads on all cores, or, on an
accelerator, by a runtime. Data sheets are not used: a machine may be limited by its power, by other
machines on the same host, or by its share of a processor. See ``docs/howto/compare.md``.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hpcfair.isolation.limits import Limits
from workers.device.errors import HubError
from workers.device.ports import DeviceSettings, Hub
from workers.device.roof_compute import ComputeRoofs
from workers.device.roof_rounds import measured_rounds
from workers.device.toolchain import tools_here
from workers.device.workspace import workspace
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.types import TargetSpec, sha256_of
from workers.fleet.probe import ThisMachine

_MEMORY = "workers.device.roof_memory"
_MIB = 2**20
#: Bytes of an array that is to lie in main memory: at least, and at most.
_LEAST_BYTES, _MOST_BYTES = 64 * _MIB, 512 * _MIB
#: STREAM asks for arrays of at least four times the last cache.
_BEYOND = 4
#: Traffic of one sample; smaller arrays are repeated.
_SAMPLE_BYTES = 256 * _MIB
_MOST_NOTE = 500


@dataclass(frozen=True, slots=True)
class MeasuredRoofs:
    """Roofs as ``roofs_store`` takes them; ``notes`` say why some are missing or doubtful."""

    roofs: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def keep_roofs(hub: Hub, settings: DeviceSettings, here: ThisMachine) -> None:
    """Measure and store the roofs of this machine, unless the hub has those of its tools.

    A failure never fails the job: it is a note. Raises LeaseLost and Cancelled as
    :class:`~workers.device.ports.Hub`.
    """
    seconds = hub.ticket.settings.get("roofs_s", 0.0)
    # The builds of a server run on a machine that this one cannot measure.
    if not seconds or settings.server is not None:
        return
    tools = tools_here(here)
    digest = sha256_of(tools)
    try:
        if digest in hub.read("roof_tools"):
            return
        hub.progress("roofs", 0, None, "measuring how fast this machine is")
        started = time.monotonic()
        measured = measure_roofs(settings, here, seconds, hub.check)
        hub.write(
            "roofs_store",
            tools=tools,
            tools_sha256=digest,
            took_s=time.monotonic() - started,
            roofs=measured.roofs,
            notes=[note[:_MOST_NOTE] for note in dict.fromkeys(measured.notes)],
        )
    except HubError as error:
        # An older hub, or one that refuses the results of this device.
        hub.write("note", message=f"The roofs of this machine were not stored: {error}"[:500])


def measure_roofs(
    settings: DeviceSettings,
    here: ThisMachine,
    seconds: float,
    check: Callable[[], None] = lambda: None,
) -> MeasuredRoofs:
    """Measure the roofs in about ``seconds``: memory first, then arithmetic.

    ``check`` is called after each roof, and may raise to end the measurement.
    """
    end = time.monotonic() + seconds
    measured = MeasuredRoofs()
    with workspace(settings.work, "roofs") as folder:
        if "cuda" not in here.spec.features:
            limits = Limits(wall_s=max(seconds, 60.0), memory_bytes=settings.child_memory_bytes)
            (folder / "memory").mkdir()
            try:
                with Child(limits, folder / "memory", interpreter=here.runner) as child:
                    for roof in _memory(child, here.spec, settings, end):
                        measured.roofs.append(roof)
                        check()
            except CandidateFailed as failure:
                measured.notes.append(f"Memory was not measured: {failure}")
            measured.notes.extend(_doubts(here.spec, settings))
        compute = ComputeRoofs(settings, here, folder, end)
        for roof in compute.measure():
            measured.roofs.append(roof)
            check()
        measured.notes.extend(compute.notes)
    return measured


def _memory(
    child: Child, spec: TargetSpec, settings: DeviceSettings, end: float
) -> Iterator[dict[str, Any]]:
    """Roofs of caches and main memory, in about a third of the time."""
    threads = max(spec.cores, 1)
    share_s = max((end - time.monotonic()) / 15, 0.0)
    for level, kind, array_bytes in _plan(spec, settings):
        arrays = 2 if kind == "copy" else 3
        repeats = max(_SAMPLE_BYTES // (arrays * array_bytes), 1)
        prepared = {"kind": kind, "array_bytes": array_bytes, "threads": threads}
        child.call(f"{_MEMORY}:prepare", **prepared, repeats=repeats)

        def sample(count: int) -> tuple[int, ...]:
            return tuple(map(int, child.call(f"{_MEMORY}:time_samples", samples=count)))

        rounds = measured_rounds(sample, time.monotonic() + share_s)
        yield {
            "level": level,
            "bytes": array_bytes,
            "arrays": arrays,
            "repeats": repeats,
            "threads": threads,
            "method": f"{kind} of float64 by NumPy on {threads} threads",
            "rounds": [each.as_json() for each in rounds],
        }


def _plan(spec: TargetSpec, settings: DeviceSettings) -> Iterator[tuple[str, str, int]]:
    """Level, operation and bytes of an array, over all threads, of each measurement."""
    caches, cores = spec.facts.get("caches", {}), max(spec.cores, 1)
    second, last = caches.get("L2", 0), _last_cache(spec)
    if second:
        # Half of each core's cache holds both arrays.
        yield "L2", "copy", second * cores // 4
    # A cache that is not much larger than those before it has no speed of its own.
    if "L3" in caches and last >= 4 * second * cores:
        yield "L3", "copy", min(last // 4, _LEAST_BYTES)
    for kind in ("copy", "triad"):
        yield "memory", kind, _array_bytes(spec, settings)


def _array_bytes(spec: TargetSpec, settings: DeviceSettings) -> int:
    memory = min(spec.memory_bytes or settings.child_memory_bytes, settings.child_memory_bytes)
    enough = min(max(_BEYOND * _last_cache(spec) // 3, _LEAST_BYTES), _MOST_BYTES)
    return int(min(enough, memory // 8))


def _last_cache(spec: TargetSpec) -> int:
    return max(spec.facts.get("caches", {}).values(), default=0)


def _doubts(spec: TargetSpec, settings: DeviceSettings) -> Iterator[str]:
    used, last = 3 * _array_bytes(spec, settings), _last_cache(spec)
    if used < _BEYOND * last:
        yield (
            f"Main memory was measured with arrays of {used // _MIB} MiB in all, less than four "
            f"times the last cache of {last // _MIB} MiB: part of the speed may be the cache's."
        )
