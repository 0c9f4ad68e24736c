"""Describes this machine and assigns it to targets of the hub. Unknown facts are ``None`` or
absent, never zero."""

import os
import platform
import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from hpcfair import _emulation, _linux, _macos, nvidia
from hpcfair._emulation import EMULATED
from hpcfair._targets import GPU_TARGETS, TARGETS, TargetDefinition

__all__ = [
    "EMULATED", "FEATURES", "GPU_TARGETS", "TARGETS", "Accelerator", "Machine", "TargetDefinition",
    "architecture", "describe", "target_of", "target_slug", "targets_of",
]  # fmt: skip

#: Instruction-set extensions that affect the speed of networks, in Linux's spelling.
FEATURES = frozenset(
    (  # noqa: SIM905  one name a line would take a screen
        "sse4_2 avx f16c fma avx2 avx_vnni avx512f avx512bw avx512dq avx512vl avx512_vnni"
        " avx512_bf16 avx512_fp16 amx_tile amx_bf16 amx_fp16 amx_int8"
        " asimd asimdhp asimddp asimdfhm i8mm bf16 sve sve2 svebf16 svei8mm sme sme2"
    ).split()
)

_ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU of the machine.

    Attributes:
        driver: Version of its driver.
        capability: Compute capability, such as ``9.0``.
        uuid_sha256: SHA-256 of the card's UUID.
    """

    name: str
    memory_bytes: int | None = None
    driver: str | None = None
    capability: str | None = None
    uuid_sha256: str | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """Features that targets can require: ``cuda``, its generation, its model."""
        if self.capability is None:
            return ("cuda", self.slug)
        return ("cuda", f"sm_{self.capability.replace('.', '')}", self.slug)

    @property
    def slug(self) -> str:
        """Slug of its model, such as ``nvidia-h200``."""
        words = re.findall("[a-z0-9]+", self.name.lower())
        return "-".join(words if words[:1] == ["nvidia"] else ["nvidia", *words])[:50].rstrip("-")


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine, with the resources that this process may use.

    Attributes:
        architecture: ``x86-64``, ``arm64``, or the kernel's name for another.
        features: Those of :data:`FEATURES` that the processor has, those of its accelerators, and
            ``emulated`` if it is emulated; sorted.
        cores: Physical cores available to this process by affinity and cgroup quota; at least 1.
        logical_cpus: Hardware threads available to this process by affinity.
        memory_bytes: Main memory, or the cgroup's limit if that is lower; ``None`` if unknown.
        processor: Name of the processor.
        family, model, stepping, microcode: As the kernel prints them (x86 only).
        caches: ``"L1d"``, ``"L1i"``, ``"L2"``, ``"L3"`` to bytes, each of one instance.
        virtualisation: ``vm``, ``container``, ``vm+container`` or ``none``.
        governor: Frequency governor of the first CPU.
        accelerators: Its NVIDIA GPUs.
        is_emulated: Whether an emulator executes its instructions, so that its speed says nothing
            about real machines.
    """

    architecture: str
    features: tuple[str, ...]
    cores: int
    logical_cpus: int
    memory_bytes: int | None
    processor: str
    os: str
    kernel: str
    family: str | None = None
    model: str | None = None
    stepping: str | None = None
    microcode: str | None = None
    caches: tuple[tuple[str, int], ...] = ()
    virtualisation: str | None = None
    governor: str | None = None
    accelerators: tuple[Accelerator, ...] = ()
    is_emulated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON, without unknown facts. ``is_emulated`` is present only if it is true."""
        document = _without_unknown(asdict(self)) | {
            "features": list(self.features),
            "caches": dict(self.caches),
            "accelerators": [_without_unknown(asdict(each)) for each in self.accelerators],
        }
        if not self.accelerators:
            del document["accelerators"]
        if not self.is_emulated:
            del document["is_emulated"]
        return document


#: Rank of a GPU's model, above its generation, because tuned code is specific to the model.
_MODEL_RANK = 200


def describe() -> Machine:
    """Describe this machine under the current limits of this process."""
    if platform.system() == "Linux":
        return _with_accelerators(_describe_linux())
    return _describe_other()


def targets_of(machine: Machine) -> tuple[TargetDefinition, ...]:
    """All targets of this machine: the best processor target, then those of its GPUs.

    A GPU has a target for its model, such as ``nvidia-h200``, because tuned code is specific to it,
    and one for its generation.
    """
    architecture = machine.architecture
    ours = [target for target in GPU_TARGETS if target.architecture == architecture]
    suffix = "" if architecture == "x86-64" else f"-{architecture}"
    models = [
        TargetDefinition(gpu.slug + suffix, gpu.name, architecture, _MODEL_RANK, gpu.features)
        for gpu in machine.accelerators
    ]
    has = set(machine.features)
    generations = [target for target in ours if has.issuperset(target.features)]
    return (target_of(machine), *dict.fromkeys(models), *generations)


def target_of(machine: Machine) -> TargetDefinition:
    """The best target of the processor: the one that is tuned for and whose builds are preferred.

    An emulated machine has a target of its own beside that of real ones. It can use builds of
    both targets; real machines can use only builds of real ones.
    """
    has = set(machine.features)
    fitting = [
        target
        for target in TARGETS
        if target.architecture == machine.architecture and has.issuperset(target.features)
    ]
    name = machine.architecture
    generic = TargetDefinition(f"{name}-generic", name, name, 0)
    target = max(fitting, key=lambda target: target.rank, default=generic)
    return target.emulated() if machine.is_emulated else target


def target_slug(machine: Machine) -> str:
    """Slug of the best target, such as ``x86-64-avx512``."""
    return target_of(machine).slug


def _with_accelerators(machine: Machine) -> Machine:
    gpus = _accelerators()
    if not gpus:
        return machine
    features = {feature for gpu in gpus for feature in gpu.features}
    return replace(
        machine, features=tuple(sorted({*machine.features, *features})), accelerators=gpus
    )


@cache
def _accelerators() -> tuple[Accelerator, ...]:
    """The GPUs. Queried once, because it is slow and cards do not change."""
    return tuple(
        Accelerator(gpu.name, gpu.memory_bytes, gpu.driver, gpu.capability, gpu.uuid_sha256)
        for gpu in nvidia.gpus()
    )


def _without_unknown(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}


def _describe_linux(root: Path = Path("/")) -> Machine:
    """Describe the machine whose ``proc`` and ``sys`` are in ``root``; tests pass recorded ones."""
    cpu = _linux.processor(root)
    usable = sorted(os.sched_getaffinity(0))
    described = Machine(
        architecture=architecture(),
        features=tuple(sorted(FEATURES.intersection(cpu.flags))),
        cores=_linux.usable_cores(root, usable),
        logical_cpus=len(usable),
        memory_bytes=_linux.memory_bytes(root),
        processor=cpu.name or platform.machine(),
        family=cpu.family,
        model=cpu.model,
        stepping=cpu.stepping,
        microcode=cpu.microcode,
        caches=_linux.caches(root),
        os=_linux.distribution(root) or "Linux",
        kernel=platform.release(),
        virtualisation=_linux.virtualisation(root, cpu),
        governor=_linux.governor(root),
    )
    if _emulation.is_emulated(root, described.architecture, cpu.name):
        return _as_emulated(described, _emulation.features(root, architecture(), cpu.flags))
    return described


def _as_emulated(machine: Machine, flags: frozenset[str]) -> Machine:
    """The emulated machine of which ``machine`` describes the real processor below."""
    return replace(
        machine,
        features=tuple(sorted({*FEATURES.intersection(flags), EMULATED})),
        processor=f"{machine.architecture} emulated on {machine.processor}",
        family=None,
        model=None,
        stepping=None,
        microcode=None,
        caches=(),
        governor=None,
        is_emulated=True,
    )


def _describe_other() -> Machine:
    facts = _macos.facts() if platform.system() == "Darwin" else {}
    logical = os.cpu_count() or 1
    memory = facts.get("hw.memsize")
    return Machine(
        architecture=architecture(),
        features=tuple(
            sorted(name for key, name in _macos.FEATURES.items() if facts.get(key) == "1")
        ),
        cores=int(facts.get("hw.physicalcpu", logical)),
        logical_cpus=logical,
        memory_bytes=int(memory) if memory else None,
        processor=facts.get("machdep.cpu.brand_string") or platform.machine(),
        os=f"{platform.system()} {platform.mac_ver()[0] or platform.version()}".strip(),
        kernel=platform.release(),
    )


def architecture() -> str:
    """The processor's architecture, as :attr:`Machine.architecture`."""
    name = platform.machine().lower()
    return _ARCHITECTURES.get(name, name.replace("_", "-"))
