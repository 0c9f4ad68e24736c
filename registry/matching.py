"""Decides which devices can do which jobs: one rule, as pure functions.

A *requirement* lists the demands on a device, of a target and of a job. *Capabilities* are the
properties of a device, from its own facts. The first demand that the device does not meet is the
reason of a refusal, in words for people.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import ceil, log

_GIB = 2**30
_LEAST_BYTES = 2**28
#: Ratio of a step of requirements to the step before.
_STEP = 1.25


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Properties of a device.

    Attributes:
        features: Instruction-set and accelerator features.
        memory_bytes: Main memory; 0 if unknown.
        cores: Physical processor cores.
        is_emulated: Whether an emulator executes its instructions.
        tools: Names of its backends; ``None`` if the device has not listed them.
        available_s: Seconds for which it is still available; ``None`` without a limit.
    """

    architecture: str
    features: frozenset[str] = frozenset()
    memory_bytes: int = 0
    cores: int = 1
    is_emulated: bool = False
    tools: frozenset[str] | None = None
    available_s: float | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """Demands on a device, in the units of :class:`Capabilities`.

    ``is_emulated`` is that of the target, because emulated machines have targets of their own;
    ``None`` permits both. ``seconds`` is the expected duration of a job.
    """

    architecture: str = ""
    features: frozenset[str] = frozenset()
    memory_bytes: int = 0
    cores: int = 0
    is_emulated: bool | None = None
    tools: frozenset[str] = frozenset()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a device meets a requirement; ``reason`` is the first demand that it does not
    meet."""

    is_fit: bool
    reason: str = ""


def fits(capabilities: Capabilities, requirement: Requirement) -> Fit:
    """Whether a device with these capabilities meets a requirement."""
    for reason in (
        _architecture(capabilities, requirement),
        _emulation(capabilities, requirement),
        _missing("feature", requirement.features, capabilities.features),
        _memory(capabilities, requirement),
        _cores(capabilities, requirement),
        _tools(capabilities, requirement),
        _time(capabilities, requirement),
    ):
        if reason:
            return Fit(is_fit=False, reason=reason)
    return Fit(is_fit=True)


def step_up(value: float) -> float:
    """``value`` rounded up to the next power of 1.25, at least 1; 0 stays 0."""
    if value <= 1:
        return float(ceil(value))
    return float(_STEP ** ceil(log(value, _STEP) - 1e-9))


def memory_step(size_bytes: int) -> int:
    """``size_bytes`` rounded up to a power of 2; 0 below 256 MiB, which every device has."""
    return 0 if size_bytes < _LEAST_BYTES else 2 ** (size_bytes - 1).bit_length()


def _architecture(capabilities: Capabilities, requirement: Requirement) -> str:
    if requirement.architecture in {"", capabilities.architecture}:
        return ""
    return f"needs the architecture {requirement.architecture}, has {capabilities.architecture}"


def _emulation(capabilities: Capabilities, requirement: Requirement) -> str:
    if requirement.is_emulated in {None, capabilities.is_emulated}:
        return ""
    if capabilities.is_emulated:
        return "needs a real machine, this one is emulated"
    return "needs an emulated machine, this one is real"


def _memory(capabilities: Capabilities, requirement: Requirement) -> str:
    if requirement.memory_bytes <= capabilities.memory_bytes or not requirement.memory_bytes:
        return ""
    needs = f"needs {_gib(requirement.memory_bytes)} of memory"
    if not capabilities.memory_bytes:
        return f"{needs}, that of the device is unknown"
    return f"{needs}, has {_gib(capabilities.memory_bytes)}"


def _cores(capabilities: Capabilities, requirement: Requirement) -> str:
    if requirement.cores <= capabilities.cores:
        return ""
    return f"needs {requirement.cores} cores, has {capabilities.cores}"


def _tools(capabilities: Capabilities, requirement: Requirement) -> str:
    if capabilities.tools is None:
        return ""
    return _missing("backend", requirement.tools, capabilities.tools)


def _time(capabilities: Capabilities, requirement: Requirement) -> str:
    if capabilities.available_s is None or requirement.seconds <= capabilities.available_s:
        return ""
    left_s = max(0.0, capabilities.available_s)
    return f"needs {requirement.seconds:.0f} s, is available for {left_s:.0f} s"


def _missing(kind: str, needed: Collection[str], present: Collection[str]) -> str:
    names = sorted(set(needed) - set(present))
    if not names:
        return ""
    return f"lacks the {kind}{'s' * (len(names) > 1)} {', '.join(names)}"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.3g} GiB"
