"""Which decision of a schedule made each loop of a kernel, by replaying the schedule's trace.

A trace names the loops that its instructions make. Those names are valid only until the loop is
split, fused or removed, so the trace is replayed up to each instruction that reads the loops around
a block, and the names are resolved there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from tvm import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, Trace
from tvm.s_tir.stmt import SBlockRealize
from tvm.tirx import AttrStmt, For, IfThenElse, PrimFunc, SeqStmt

#: Position of an instruction in the trace that made a decision, and which of its results.
Origin: TypeAlias = tuple[int, int]
_MOVES = frozenset({"ComputeAt", "ReverseComputeAt"})
_UNROLL = frozenset({"meta_schedule.unroll_explicit", "meta_schedule.unroll_implicit"})


def loops_of(function: PrimFunc) -> list[For]:
    """Loops of a function in the order of its text: outer before inner, first before second."""
    return list(_loops(function.body))


def decisions_of(before: PrimFunc, trace: Any, after: PrimFunc) -> list[dict[str, Any]]:
    """The decisions that made each loop of a scheduled function.

    Args:
        before: The loop nest that the schedule was applied to.
        trace: As by ``Trace.as_json()``.
        after: The compiled function; passes after scheduling may have removed loops.

    Returns:
        For each loop of ``after``, in order: ``name``; ``extent`` (``None`` if it is not constant);
        ``decisions``, ``{"instruction", "result"}`` each: positions in the trace; ``unroll``, the
        instruction that chose how far its body is unrolled, or ``None``.
    """
    origins = _origins(before, trace)
    scheduled = loops_of(_replayed(before, trace, len(trace[0])).mod["main"])
    final = loops_of(after)
    by_position: dict[int, list[Origin]] = {}
    matcher = SequenceMatcher(None, _shapes(scheduled), _shapes(final), autojunk=False)
    for start, at, size in matcher.get_matching_blocks():
        by_position.update({at + n: origins[start + n] for n in range(size)})
    unroll = _unroll_decision(trace[0])
    return [
        {
            "name": str(loop.loop_var.name),
            "extent": extent_of(loop),
            "decisions": [
                {"instruction": i, "result": n} for i, n in by_position.get(position, [])
            ],
            "unroll": unroll if _is_unrolled(loop) else None,
        }
        for position, loop in enumerate(final)
    ]


def extent_of(loop: For) -> int | None:
    """Number of iterations; ``None`` if it is not constant."""
    value = getattr(loop.extent, "value", None)
    return value if isinstance(value, int) else None


def _shapes(loops: list[For]) -> list[tuple[str, int | None]]:
    return [(str(loop.loop_var.name), extent_of(loop)) for loop in loops]


@dataclass(slots=True)
class _Names:
    """Names of loops in a trace with the decisions that made them.

    Attributes:
        moved: Name of a block to the decision that placed it.
        sampled: Name of a loop that was sampled as a place to the instruction that sampled it.
    """

    origins: dict[str, list[Origin]] = field(default_factory=dict)
    moved: dict[str, Origin] = field(default_factory=dict)
    sampled: dict[str, int] = field(default_factory=dict)


def _origins(before: PrimFunc, trace: Any) -> list[list[Origin]]:
    """Decisions of each loop after the whole trace, in the order of the text."""
    instructions = trace[0]
    names = _Names()
    tiles: dict[str, Origin] = {}
    for at, (kind, inputs, _, outputs) in enumerate(instructions):
        if kind == "SamplePerfectTile":
            tiles |= {output: (at, n) for n, output in enumerate(outputs)}
        elif kind == "SampleComputeLocation":
            names.sampled |= dict.fromkeys(outputs, at)
        elif kind == "Split":
            parent = names.origins.get(inputs[0], [])
            for n, output in enumerate(outputs):
                own = tiles.get(str(inputs[n + 1]))
                names.origins[output] = [*parent, *([own] if own else [])]
        elif kind == "Fuse":
            joined = [origin for name in inputs for origin in names.origins.get(name, [])]
            names.origins |= {output: list(dict.fromkeys(joined)) for output in outputs}
        elif kind in _MOVES:
            state = _replayed(before, trace, at)
            block = state.get(_values(state, instructions)[inputs[0]])
            names.moved[str(block.name_hint)] = (names.sampled.get(str(inputs[1]), at), 0)
        elif kind == "GetLoops":
            state = _replayed(before, trace, at + 1)
            current = _by_loop(state, instructions, names)
            values = _values(state, instructions)
            for name in outputs:
                names.origins[name] = current.get(hash(state.get(values[name]).loop_var), [])
    state = _replayed(before, trace, len(instructions))
    current = _by_loop(state, instructions, names)
    return [current.get(hash(loop.loop_var), []) for loop in loops_of(state.mod["main"])]


def _by_loop(state: Schedule, instructions: list[Any], names: _Names) -> dict[int, list[Origin]]:
    """Decisions by the variable of each loop that exists in a state of the schedule."""
    by_variable: dict[int, list[Origin]] = {}
    for name, value in _values(state, instructions).items():
        origins = names.origins.get(name)
        loop = _loop(state, value) if origins else None
        if origins and loop is not None:
            by_variable.setdefault(hash(loop.loop_var), origins)
    loops = loops_of(state.mod["main"])
    by_name = {str(loop.loop_var.name): by_variable.get(hash(loop.loop_var), []) for loop in loops}
    for loop in loops:
        name = str(loop.loop_var.name)
        blocks = {str(block.name_hint) for block in _blocks(loop.body)}
        if hash(loop.loop_var) in by_variable:
            continue
        # The initialisation of a reduction repeats the spatial loops of the reduction itself.
        if name.endswith("_init") and by_name.get(name.removesuffix("_init")):
            by_variable[hash(loop.loop_var)] = by_name[name.removesuffix("_init")]
        elif len(blocks) == 1 and (place := names.moved.get(next(iter(blocks)))):
            by_variable[hash(loop.loop_var)] = [place]
    return by_variable


def _loop(state: Schedule, value: Any) -> For | None:
    """The loop of a name; ``None`` if the name is not that of a loop, or the loop is gone."""
    if not isinstance(value, LoopRV):
        return None
    try:
        loop = state.get(value)
    # TVM's exceptions share no base below Exception.
    except Exception:  # noqa: BLE001
        return None
    return loop if isinstance(loop, For) else None


def _values(state: Schedule, instructions: list[Any]) -> dict[str, Any]:
    """What the names of a trace stand for in a state of the schedule, a prefix of the trace."""
    return {
        name: value
        for (_, _, _, outputs), instruction in zip(instructions, state.trace.insts, strict=False)
        for name, value in zip(outputs, instruction.outputs, strict=True)
    }


def _replayed(before: PrimFunc, trace: Any, count: int) -> Schedule:
    """The schedule after the first ``count`` instructions of a trace."""
    instructions, decisions = trace
    state = Schedule(IRModule({"main": before}))
    chosen = [decision for decision in decisions if decision[0] < count]
    Trace.apply_json_to_schedule([instructions[:count], chosen], state)
    return state


def _unroll_decision(instructions: list[Any]) -> int | None:
    """Position of the instruction that chose the steps of unrolling."""
    chosen: Mapping[str, int] = {
        output: at
        for at, (kind, _, _, outputs) in enumerate(instructions)
        if kind == "SampleCategorical"
        for output in outputs
    }
    for kind, inputs, attributes, _ in instructions:
        if kind == "Annotate" and attributes and attributes[0] in _UNROLL:
            return chosen.get(str(inputs[1]))
    return None


def _is_unrolled(loop: For) -> bool:
    return any(str(name).startswith("pragma_auto_unroll") for name in loop.annotations)


def _loops(statement: Any) -> Iterator[For]:
    if isinstance(statement, For):
        yield statement
    for inner in _parts(statement):
        yield from _loops(inner)


def _blocks(statement: Any) -> Iterator[Any]:
    if isinstance(statement, SBlockRealize):
        yield statement.block
    for inner in _parts(statement):
        yield from _blocks(inner)


def _parts(statement: Any) -> Iterator[Any]:
    """Statements directly inside a statement, in the order of the text."""
    match statement:
        case For() | AttrStmt():
            yield statement.body
        case SeqStmt():
            yield from statement.seq
        case SBlockRealize():
            if statement.block.init is not None:
                yield statement.block.init
            yield statement.block.body
        case IfThenElse():
            yield statement.then_case
            if statement.else_case is not None:
                yield statement.else_case
