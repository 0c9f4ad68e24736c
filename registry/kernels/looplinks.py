"""Links the loops of machine code to those of a kernel's loop nest.

The machine loops of a function are paired with the loops of its LLVM IR by nesting and order, and
those with the loop nest by the names that TVM gave to blocks and variables. Where this leaves a
choice, or the shapes differ, there is no link: a wrong one is worse than none.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from registry.kernels.assembly import MachineLoop
from registry.kernels.llvm import CompiledLoop, compiled_loops
from registry.kernels.tir import KernelLoop

#: Name of a block of a loop, and the suffixes of LLVM's blocks before and after that loop.
_BLOCK = re.compile(r"^for_(begin|body|end)_(\w+)(.*)$")
#: Header of the loop that LLVM makes of another one when it vectorises it.
_VECTORISED = re.compile(r"^(?:vec\.epilog\.)?vector\.body")
_OUTSIDE = re.compile(r"\.(?:preheader|lr\.ph|loopexit|crit_edge)\b")
#: Prefix of private functions in assembly.
_PRIVATE = ".L"


def link_loops(
    machine: Sequence[MachineLoop], llvm: str, loops: Sequence[KernelLoop]
) -> dict[int, int]:
    """Positions in ``machine`` to numbers of ``loops``, as far as they are certain.

    Args:
        machine: As of :func:`registry.kernels.assembly.machine_loops`, of the whole kernel.
        llvm: The IR of the same kernel.
        loops: As of :func:`registry.kernels.tir.loops_of`.
    """
    links: dict[int, int] = {}
    for function, compiled in compiled_loops(llvm).items():
        origins: dict[int, int] = {}
        pairs = list(_pairs(machine, function, compiled))
        for _, position in pairs:
            loop = compiled[position]
            around = None if loop.parent is None else origins.get(loop.parent)
            if (origin := _origin(loop, loops, around)) is not None:
                origins[position] = origin
        origins |= _vectorised(compiled, origins)
        links |= {at: origins[position] for at, position in pairs if position in origins}
    return links


def _vectorised(compiled: Sequence[CompiledLoop], origins: Mapping[int, int]) -> dict[int, int]:
    """The origins of LLVM's vectorised loops: that of the loop behind, which does the rest of the
    iterations."""
    vectorised: dict[int, int] = {}
    behind: dict[int | None, int | None] = {}
    for position in reversed(range(len(compiled))):
        loop = compiled[position]
        origin = origins.get(position)
        if origin is None and _VECTORISED.match(loop.header):
            origin = behind.get(loop.parent)
            if origin is not None:
                vectorised[position] = origin
        behind[loop.parent] = origin
    return vectorised


def _pairs(
    machine: Sequence[MachineLoop], function: str, compiled: Sequence[CompiledLoop]
) -> Iterator[tuple[int, int]]:
    """Positions of machine loops and compiled loops that correspond, outer ones first."""
    own = [at for at, one in enumerate(machine) if one.function.removeprefix(_PRIVATE) == function]
    inside: dict[int | None, list[int]] = defaultdict(list)
    for at in own:
        around = [
            other
            for other in own
            if other != at
            and machine[other].line <= machine[at].line
            and machine[at].last_line <= machine[other].last_line
        ]
        inside[max(around, key=lambda other: machine[other].depth, default=None)].append(at)
    within: dict[int | None, list[int]] = defaultdict(list)
    for position, loop in enumerate(compiled):
        within[loop.parent].append(position)

    def paired(outer: int | None, parent: int | None) -> Iterator[tuple[int, int]]:
        these, those = inside[outer], within[parent]
        if len(these) != len(those):
            # LLVM writes out some loops that copy memory, and turns others into calls.
            these = [at for at in these if _computes(machine[at])]
            those = [position for position in those if compiled[position].has_arithmetic]
        if len(these) != len(those) or any(
            _computes(machine[at]) != compiled[position].has_arithmetic
            for at, position in zip(these, those, strict=True)
        ):
            return
        for at, position in zip(these, those, strict=True):
            yield at, position
            yield from paired(at, position)

    return paired(None, None)


def _computes(loop: MachineLoop) -> bool:
    return bool(loop.mix.packed or loop.mix.scalar)


def _origin(compiled: CompiledLoop, loops: Sequence[KernelLoop], around: int | None) -> int | None:
    """The loop of the nest that became ``compiled``; ``around`` is that of the loop around it."""
    candidates = {
        loop.number for name in compiled.variables for loop in loops if _is_named(name, loop)
    }
    if not candidates and (block := _BLOCK.match(compiled.header)):
        part, name, suffix = block.groups()
        named = [loop for loop in loops if _is_named(name, loop)]
        if part == "end" or _OUTSIDE.search(suffix):
            # The block belongs to a loop around that of its name.
            candidates = {outer for loop in named for outer in _ancestors(loop, loops)}
        else:
            candidates = {loop.number for loop in named}
    possible = [
        number
        for number in candidates
        if _remains(loops[number])
        and (around is None or around in _ancestors(loops[number], loops))
    ]
    if len(possible) > 1:
        possible = [number for number in possible if loops[number].extent == compiled.trips]
    return possible[0] if len(possible) == 1 else None


def _is_named(name: str, loop: KernelLoop) -> bool:
    """Whether a name of the IR is that of a loop, to which LLVM may have appended digits."""
    rest = name.partition(".")[0].removeprefix(loop.name)
    return rest != name.partition(".")[0] and (not rest or rest.isdigit())


def _remains(loop: KernelLoop) -> bool:
    """Whether a loop of machine code can come of it."""
    return loop.kind in {"serial", "parallel"} and loop.extent != 1


def _ancestors(loop: KernelLoop, loops: Sequence[KernelLoop]) -> list[int]:
    """Numbers of the loops around ``loop``, the innermost first."""
    numbers = []
    while loop.parent is not None:
        numbers.append(loop.parent)
        loop = loops[loop.parent]
    return numbers
