"""Recognises emulated processors, whose speed says nothing about real ones.

User-mode emulators such as ``qemu-aarch64`` run programs of one architecture on another one, or on
the same one with fewer instructions. Most facts about the processor that a program can
read come from the kernel below, and so describe the real machine. Features are therefore read from
sources that the emulator provides: from the auxiliary vector (ARM64), or by NumPy, which executes
``CPUID`` (x86-64).

The first argument of every function is the root folder, normally ``/``.
"""

import struct
from pathlib import Path

from hpcfair.isolation import emulator

#: Feature of emulated machines. Targets of emulated machines require it, so that no real machine
#: gets their builds.
EMULATED = "emulated"

#: Architecture to its name by ``uname(2)``, where they differ.
_MACHINES = {"x86-64": "x86_64", "arm64": "aarch64"}
_AT_HWCAP, _AT_HWCAP2 = 16, 26
#: Bits of the auxiliary vector on ARM64, from the kernel's ``uapi/asm/hwcap.h``.
_HWCAP = {"asimd": 1, "asimdhp": 10, "asimddp": 20, "sve": 22, "asimdfhm": 23}
_HWCAP2 = {
    "sve2": 1, "svei8mm": 9, "svebf16": 12, "i8mm": 13, "bf16": 14, "sme": 23, "sme2": 37,
}  # fmt: skip
#: Levels of the x86-64 psABI above version 2: prefixes of the features that a level adds, and
#: names by which NumPy reports it.
_LEVELS = (
    (("avx512", "amx"), {"AVX512_SKX", "X86_V4"}),
    (("avx", "f16c", "fma", "amx"), {"AVX2", "X86_V3"}),
)


def is_emulated(root: Path, architecture: str, processor: str | None) -> bool:
    """Whether an emulator executes the instructions of this process.

    Recognises user-mode emulators, and QEMU's system emulation without virtualisation by its
    processor name.
    """
    if emulator.is_present(root, _MACHINES.get(architecture, architecture)):
        return True
    return "QEMU TCG" in (processor or "")


def features(root: Path, architecture: str, flags: frozenset[str]) -> frozenset[str]:
    """Instruction-set features of an emulated processor, in Linux's spelling.

    Args:
        flags: Flags in ``/proc/cpuinfo``, which are those of the real processor.
    """
    if architecture == "arm64":
        return _arm_features(root)
    if architecture == "x86-64":
        return _x86_features(flags)
    return frozenset()


def _arm_features(root: Path) -> frozenset[str]:
    try:
        content = (root / "proc/self/auxv").read_bytes()
    except OSError:
        return frozenset()
    vector = dict(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))
    words = ((_HWCAP, vector.get(_AT_HWCAP, 0)), (_HWCAP2, vector.get(_AT_HWCAP2, 0)))
    return frozenset(name for bits, word in words for name, bit in bits.items() if word >> bit & 1)


def _x86_features(flags: frozenset[str]) -> frozenset[str]:
    """``flags`` without those of levels that the emulated processor does not have."""
    detected = _numpy_features()
    for prefixes, names in _LEVELS:
        if detected.isdisjoint(names):
            flags = frozenset(flag for flag in flags if not flag.startswith(prefixes))
    return flags


def _numpy_features() -> frozenset[str]:
    """Features that NumPy has detected."""
    import numpy as np  # noqa: PLC0415  slow to import, and needed for emulated processors only

    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    return frozenset((*extensions.get("baseline", ()), *extensions.get("found", ())))
