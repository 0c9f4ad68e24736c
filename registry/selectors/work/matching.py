"""Capabilities of devices and requirements of jobs for :mod:`registry.matching`, from their
rows."""

from collections.abc import Collection, Iterable
from typing import Any

from registry.matching import Capabilities, Requirement, fits
from registry.states import DeviceState
from registry.tables import Device, JobRequirement, Target

#: Bytes of memory for each byte of weights: baseline and candidate are open at the same time.
_COPIES = 2
#: Seconds that a job may take for each second of its expected length.
_ALLOWANCE = 2.0
#: Backends that jobs of these kinds need.
_TOOLS = {"schedule": ("tvm",), "ablate": ("tvm",), "cross": ("tvm",)}


def capabilities_of(device: Device, available_s: float | None = None) -> Capabilities:
    """Capabilities of a device, by its facts.

    Args:
        available_s: Seconds for which it is still available; ``None`` without a limit.
    """
    return capabilities(device.facts, tools=device.tools, available_s=available_s)


def capabilities(
    facts: dict[str, Any],
    *,
    tools: dict[str, Any] | None = None,
    available_s: float | None = None,
) -> Capabilities:
    """Capabilities of a machine with these facts; without ``tools``, its backends are unknown."""
    return Capabilities(
        architecture=str(facts.get("architecture", "")),
        features=frozenset(facts.get("features") or ()),
        memory_bytes=int(facts.get("memory_bytes") or 0),
        cores=int(facts.get("cores") or 1),
        is_emulated=bool(facts.get("is_emulated")),
        tools=frozenset(tools) if tools else None,
        available_s=available_s,
    )


def requirement_of_target(target: Target) -> Requirement:
    """The requirement of a target."""
    return Requirement(
        architecture=target.architecture,
        features=frozenset(target.features),
        memory_bytes=target.memory_bytes,
        cores=target.cores,
        is_emulated=target.is_emulated,
    )


def requirement_of(row: JobRequirement) -> Requirement:
    """The requirement of jobs, beyond that of their target."""
    return Requirement(
        memory_bytes=row.memory_bytes, tools=frozenset(row.tools), seconds=row.seconds
    )


def requirement_of_job(
    kind: str, parameters: dict[str, Any], *, weight_bytes: int, seconds: float
) -> Requirement:
    """The requirement of a job, beyond that of its target.

    Args:
        weight_bytes: Size of the network's weights.
        seconds: Expected duration of the job, without confirming and sending results.
    """
    return Requirement(
        memory_bytes=_COPIES * weight_bytes,
        tools=frozenset((*parameters.get("backends", ()), *_TOOLS.get(kind, ()))),
        seconds=_ALLOWANCE * seconds,
    )


def is_served(target: Target, tools: Collection[str]) -> bool:
    """Whether a device of a target lists all these backends."""
    if not tools:
        return True
    rows = Device.objects.filter(target=target).exclude(state=DeviceState.RETIRED)
    return any(set(tools) <= set(listed) for listed in rows.values_list("tools", flat=True))


def fitting_requirements(
    device: Device | None, available_s: float | None = None
) -> list[int] | None:
    """Keys of the requirements that a device meets; ``None`` if it meets all, or without a
    device."""
    if device is None:
        return None
    has = capabilities_of(device, available_s)
    rows = list(JobRequirement.objects.all())
    fitting = [row.pk for row in rows if fits(has, requirement_of(row)).is_fit]
    return None if len(fitting) == len(rows) else fitting


def misfit_of(row: JobRequirement, devices: Iterable[Device]) -> str:
    """Why no device meets a requirement, as a sentence; "" if one does.

    The sentence names the device with the most memory.
    """
    ordered = sorted(
        devices, key=lambda device: int(device.facts.get("memory_bytes") or 0), reverse=True
    )
    results = [(device, fits(capabilities_of(device), requirement_of(row))) for device in ordered]
    if not results or any(fit.is_fit for _, fit in results):
        return ""
    device, fit = results[0]
    others = f", and {len(results) - 1} more" if len(results) > 1 else ""
    return f"no device fits: {device.name} {fit.reason}{others}"
