"""Kinds of hardware, by the features that make them. See :mod:`hpcfair.machine`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of hardware. A machine can use its builds if it has all ``features``.

    Attributes:
        rank: Among the targets a machine can use, the highest is the closest fit.
    """

    slug: str
    title: str
    architecture: str
    rank: int
    features: tuple[str, ...] = ()


_AVX2 = ("avx2", "f16c", "fma")
_AVX512 = (*_AVX2, "avx512bw", "avx512dq", "avx512f", "avx512vl")
_VNNI = (*_AVX512, "avx512_vnni")
_BF16 = (*_VNNI, "avx512_bf16")
_N1 = ("asimd", "asimddp", "asimdhp")
_V1 = (*_N1, "bf16", "i8mm", "sve")

#: Each target's features include those of the targets before it of the same architecture, so the
#: highest rank is always the one to take.
TARGETS = (
    Target("x86-64-baseline", "x86-64", "x86-64", 0),
    Target("x86-64-avx2", "x86-64 with AVX2", "x86-64", 10, _AVX2),
    Target("x86-64-avx512", "x86-64 with AVX-512", "x86-64", 20, _AVX512),
    Target("x86-64-avx512vnni", "x86-64 with AVX-512 VNNI", "x86-64", 30, _VNNI),
    Target("x86-64-avx512bf16", "x86-64 with AVX-512 BF16", "x86-64", 40, _BF16),
    Target(
        "x86-64-amx", "x86-64 with AMX", "x86-64", 50, (*_BF16, "amx_bf16", "amx_int8", "amx_tile")
    ),
    Target("arm64-generic", "ARM64", "arm64", 0),
    Target("arm64-neoverse-n1", "ARM64 like Neoverse N1: FP16, dot products", "arm64", 10, _N1),
    Target("arm64-neoverse-v1", "ARM64 like Neoverse V1: BF16, I8MM, SVE", "arm64", 20, _V1),
    Target("arm64-neoverse-v2", "ARM64 like Neoverse V2: SVE2", "arm64", 30, (*_V1, "sve2")),
)

#: Compute capabilities by architecture of the processor beside the GPU: what ships together.
_CAPABILITIES = {
    "x86-64": ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"),
    "arm64": ("8.7", "9.0", "10.0", "11.0", "12.1"),
}
#: GPUs by generation. Code for one runs on no other, so none includes another. They rank above all
#: processors: who installs a runtime for GPUs means to use it.
GPU_TARGETS = tuple(
    Target(
        f"nvidia-sm{capability.replace('.', '')}" + ("" if architecture == "x86-64" else "-arm64"),
        f"NVIDIA GPU of compute capability {capability}",
        architecture,
        100,
        ("cuda", f"sm_{capability.replace('.', '')}"),
    )
    for architecture, capabilities in _CAPABILITIES.items()
    for capability in capabilities
)
