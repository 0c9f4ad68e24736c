"""Definitions of hardware targets by their features. See :mod:`hpcfair.machine`."""

from dataclasses import dataclass, replace

from hpcfair._emulation import EMULATED
from hpcfair.typingnames import Self


@dataclass(frozen=True, slots=True)
class TargetDefinition:
    """A kind of hardware. A machine can use its builds if it has all ``features``. ``rank``: of the
    targets that a machine can use, the one with the highest rank fits best."""

    slug: str
    title: str
    architecture: str
    rank: int
    features: tuple[str, ...] = ()

    def emulated(self) -> Self:
        """The target of emulated machines with the same instructions, which those prefer to this
        one."""
        return replace(
            self,
            slug=f"{self.slug}-{EMULATED}",
            title=f"{self.title}, {EMULATED}",
            rank=self.rank + 1,
            features=(*self.features, EMULATED),
        )


_AVX2 = ("avx2", "f16c", "fma")
_AVX512 = (*_AVX2, "avx512bw", "avx512dq", "avx512f", "avx512vl")
_VNNI = (*_AVX512, "avx512_vnni")
_BF16 = (*_VNNI, "avx512_bf16")
_N1 = ("asimd", "asimddp", "asimdhp")
_V1 = (*_N1, "bf16", "i8mm", "sve")

#: Each target's features include those of the preceding targets of its architecture, so the highest
#: rank always fits best.
TARGETS = (
    TargetDefinition("x86-64-baseline", "x86-64", "x86-64", 0),
    TargetDefinition("x86-64-avx2", "x86-64 with AVX2", "x86-64", 10, _AVX2),
    TargetDefinition("x86-64-avx512", "x86-64 with AVX-512", "x86-64", 20, _AVX512),
    TargetDefinition("x86-64-avx512vnni", "x86-64 with AVX-512 VNNI", "x86-64", 30, _VNNI),
    TargetDefinition("x86-64-avx512bf16", "x86-64 with AVX-512 BF16", "x86-64", 40, _BF16),
    TargetDefinition(
        "x86-64-amx", "x86-64 with AMX", "x86-64", 50, (*_BF16, "amx_bf16", "amx_int8", "amx_tile")
    ),
    TargetDefinition("arm64-generic", "ARM64", "arm64", 0),
    TargetDefinition(
        "arm64-neoverse-n1", "ARM64 like Neoverse N1: FP16, dot products", "arm64", 10, _N1
    ),
    TargetDefinition(
        "arm64-neoverse-v1", "ARM64 like Neoverse V1: BF16, I8MM, SVE", "arm64", 20, _V1
    ),
    TargetDefinition(
        "arm64-neoverse-v2", "ARM64 like Neoverse V2: SVE2", "arm64", 30, (*_V1, "sve2")
    ),
)

#: Compute capabilities by architecture of the host processor: combinations that are sold.
_CAPABILITIES = {
    "x86-64": ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"),
    "arm64": ("8.7", "9.0", "10.0", "11.0", "12.1"),
}
#: GPUs by generation. Code for one generation does not run on another. They rank above all
#: processors: a user who installs a runtime for GPUs intends to use it.
GPU_TARGETS = tuple(
    TargetDefinition(
        f"nvidia-sm{capability.replace('.', '')}" + ("" if architecture == "x86-64" else "-arm64"),
        f"NVIDIA GPU of compute capability {capability}",
        architecture,
        100,
        ("cuda", f"sm_{capability.replace('.', '')}"),
    )
    for architecture, capabilities in _CAPABILITIES.items()
    for capability in capabilities
)
