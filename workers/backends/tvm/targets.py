"""TVM's targets, derived from a target's features alone.

A build is valid on every machine of its target, so it uses only the features that the target
guarantees: LLVM's generic levels of the x86-64 psABI plus single features, never the model of the
processor it was built on.
"""

from typing import Any

from hpcfair import machine
from workers.backends.tvm.cross import TRIPLES
from workers.engine.errors import InvalidCandidate
from workers.engine.types import TargetSpec

LLVM_LEVELS = ("O3", "O2", "O1", "O0")

_X86_LEVELS = (("avx512f", "x86-64-v4"), ("avx2", "x86-64-v3"), ("sse4_2", "x86-64-v2"))
#: LLVM's names by Linux's names of features, beyond those levels.
_X86 = {
    "avx512_vnni": "+avx512vnni",
    "avx512_bf16": "+avx512bf16",
    "amx_tile": "+amx-tile",
    "amx_bf16": "+amx-bf16",
    "amx_int8": "+amx-int8",
}
_ARM = {
    "asimd": "+neon",
    "asimddp": "+dotprod",
    "asimdhp": "+fullfp16",
    "bf16": "+bf16",
    "i8mm": "+i8mm",
    "sve": "+sve",
    "sve2": "+sve2",
}
#: RV64GC, which all of Linux's distributions require; the ABI passes floating-point arguments in
#: registers.
_RISCV_BASE = ("+m", "+a", "+f", "+d", "+c")
_RISCV_ABI = "lp64d"

#: Limits of all NVIDIA GPUs since Volta; by default TVM takes those of the local GPU.
_CUDA_LIMITS = {
    "max_num_threads": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}


def cuda_target_of(target: TargetSpec) -> dict[str, Any]:
    """The arguments of ``tvm.target.Target`` for an NVIDIA GPU; raises InvalidCandidate if the
    target does not name the generation of its GPU."""
    generations = sorted(feature for feature in target.features if feature.startswith("sm_"))
    if not generations:
        raise InvalidCandidate(f"{target.slug} does not name a GPU generation, such as sm_90")
    host = target_of(target)
    return {"kind": "cuda", "arch": generations[-1], **_CUDA_LIMITS, "host": host}


def target_of(target: TargetSpec, llvm: str = "O3") -> dict[str, Any]:
    """The arguments of ``tvm.target.Target`` for a target and one of :data:`LLVM_LEVELS`.

    ``mtriple`` is set if this machine has another architecture. Raises InvalidCandidate if the
    architecture or the level is not supported.
    """
    if llvm not in LLVM_LEVELS:
        raise InvalidCandidate(f"LLVM has the levels {', '.join(LLVM_LEVELS)}, not {llvm!r}")
    base: tuple[str, ...] = ()
    if target.architecture == "x86-64":
        levels = (level for feature, level in _X86_LEVELS if feature in target.features)
        mcpu, names = next(levels, "x86-64"), _X86
    elif target.architecture == "arm64":
        mcpu, names = "generic", _ARM
    elif target.architecture == "riscv64":
        mcpu, names, base = "generic-rv64", {}, _RISCV_BASE
    else:
        raise InvalidCandidate(f"no code generation for {target.architecture}")
    mattr = [*base, *(name for feature, name in names.items() if feature in target.features)]
    is_foreign = target.architecture != machine.architecture()
    return {
        "kind": "llvm",
        "mcpu": mcpu,
        **({"mtriple": TRIPLES[target.architecture]} if is_foreign else {}),
        **({"mabi": _RISCV_ABI} if base else {}),
        **({"mattr": mattr} if mattr else {}),
        "num-cores": target.cores,
        "opt-level": int(llvm[1:]),
    }
