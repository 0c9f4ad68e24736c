"""The machines that can be emulated: their architecture, processor, packages and emulator."""

from dataclasses import dataclass
from pathlib import Path

#: Packages of a userland that runs Python programs and the engine's children.
_PYTHON = ("python3.11", "coreutils", "dash", "libgomp1", "libstdc++6", "zlib1g")
_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
#: ABIs of wheels that the C library of the release can load, newest first.
_ABIS = (
    *(f"manylinux_2_{minor}" for minor in (36, 35, 34, 31, 28, 27, 26, 24, 17)),
    "manylinux2014",
)


@dataclass(frozen=True, slots=True)
class EmulatedMachine:
    """A kind of emulated machine.

    Attributes:
        architecture: Debian's name of its architecture.
        qemu: QEMU's name of its architecture.
        cpu: QEMU's name of its processor.
        elf: Number of its architecture in ELF files.
        releases: Debian releases; the first one with available packages is used.
        packages: Debian packages, without their dependencies.
        requirements: File with Python packages; ``None`` for a userland without Python.
    """

    architecture: str
    qemu: str
    cpu: str
    elf: int
    releases: tuple[str, ...] = ("bookworm",)
    packages: tuple[str, ...] = _PYTHON
    requirements: Path | None = _REQUIREMENTS

    @property
    def platforms(self) -> list[str]:
        """Platform tags of wheels that it can run."""
        return [f"{abi}_{self.qemu}" for abi in _ABIS]


MACHINES = {
    # ARM64 with FP16 and dot products, like Ampere Altra and AWS Graviton 2.
    "arm64": EmulatedMachine("arm64", "aarch64", "neoverse-n1", 183),
    # x86-64 without AVX-512, and without AVX, for builds for older processors.
    "x86-64-v3": EmulatedMachine(
        "amd64", "x86_64", "Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid", 62
    ),
    "x86-64-v2": EmulatedMachine("amd64", "x86_64", "Nehalem", 62),
    # Releases since the first one with this architecture; only the C library, for linked programs.
    "riscv64": EmulatedMachine(
        *("riscv64", "riscv64", "rv64", 243),
        releases=("trixie", "forky"),
        packages=("coreutils", "libc6", "libstdc++6"),
        requirements=None,
    ),
}
#: Release whose emulator is used: other versions emulate other processors.
EMULATOR_RELEASE = "bookworm"
EMULATOR_PACKAGE = "qemu-user-static"
