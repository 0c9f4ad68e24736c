"""Instruction sets that packages are compiled for: those of the target, not of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._inductor import cpu_vec_isa

from workers.engine.types import TargetSpec

_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})


def generation(target: TargetSpec) -> str:
    """GCC's ``-march`` for the processor generation of a target."""
    if target.architecture == "arm64":
        return "armv8-a"
    if target.features >= _AVX512:
        return "x86-64-v4"
    return "x86-64-v3" if target.features >= {"avx2", "fma"} else "x86-64-v2"


@contextmanager
def inductor_instructions(target: TargetSpec) -> Iterator[None]:
    """Make Inductor vectorise for the target, instead of for this machine."""
    instructions: list[Any] = []
    if target.architecture == "arm64":
        instructions = [cpu_vec_isa.VecNEON()]
    elif target.features >= _AVX512:
        instructions = [_Avx512()]
    elif target.features >= {"avx2", "fma"}:
        instructions = [cpu_vec_isa.VecAVX2()]
    module: Any = cpu_vec_isa
    original = module.valid_vec_isa_list
    module.valid_vec_isa_list = lambda: instructions
    try:
        yield
    finally:
        module.valid_vec_isa_list = original


#: AVX-512 without extensions of this machine that the target does not have: Inductor's own class
#: detects and enables them when its availability is checked.
_Avx512: Any = type(
    "_Avx512",
    (cpu_vec_isa.VecAVX512,),
    {"__bool__": lambda _: True, "__hash__": cpu_vec_isa.VecISA.__hash__},
)
