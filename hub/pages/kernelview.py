"""The code of a kernel on a page: its loops with their decisions, and listings linked to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hub.pages.listing import listing
from registry.errors import NotFound
from registry.kernels.assembly import MachineLoop, machine_loops
from registry.kernels.looplinks import link_loops
from registry.kernels.tir import KernelLoop
from registry.selectors.analysis.groupevidence import GroupEvidence
from registry.selectors.analysis.kernelcode import kernel_text, kinds_of, loop_decisions
from registry.selectors.analysis.scheduledecision import ScheduleDecision, decisions_of
from registry.tables import Kernel

_MOST_MACHINE_LOOPS = 12
#: The part of a split loop that the compiler numbers; the title of a loop without a name.
_PART = re.compile(r"^([a-z]\w*?)_\d+$")
_NAMELESS = re.compile(r"^tile of loop \d+$")


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop on a page.

    Attributes:
        decisions: That made it, with the result of each.
        unroll: The decision that chose how far it is unrolled.
        is_odd: Whether it is vectorised and does not fill whole vectors.
    """

    loop: KernelLoop
    decisions: list[tuple[ScheduleDecision, str]]
    unroll: ScheduleDecision | None
    is_odd: bool

    @property
    def keys(self) -> str:
        """Instructions of its decisions, for links."""
        keys = [decision.instruction for decision, _ in self.decisions]
        return " ".join(map(str, [*keys, *([self.unroll.instruction] if self.unroll else [])]))


@dataclass(frozen=True, slots=True)
class MachineLoopRow:
    """A loop of the machine code on a page, with the loop of the nest that it came from, if that is
    certain."""

    machine: MachineLoop
    origin: LoopRow | None


def loops_context(facts: GroupEvidence) -> dict[str, Any]:
    """Rows of the loops of a group's kernel, and its loop nest; empty if it has none."""
    kernel = facts.group.site.kernel
    if kernel is None or not facts.loops:
        return {}
    rows, has_decisions = _rows(kernel, facts)
    return {
        "rows": rows,
        "units": sum(loop.extent == 1 for loop in facts.loops),
        "has_decisions": has_decisions,
        "used": sorted(
            {one.instruction: one for row in rows for one, _ in row.decisions}.values(),
            key=lambda one: one.instruction,
        ),
        "listing": listing("tir", kernel_text(kernel, "tir").text, _lines_of(facts.loops)),
    }


def _rows(kernel: Kernel, facts: GroupEvidence) -> tuple[list[LoopRow], bool]:
    """Rows of the loops of a kernel, and whether they have their decisions."""
    stored = loop_decisions(kernel)
    decisions = {one.instruction: one for one in _named(decisions_of(kernel), stored)}
    # Stored for the same text; if not, decisions would be shown at wrong loops.
    fits = [one.get("name") for one in stored] == [loop.name for loop in facts.loops]
    lanes = facts.evidence.lanes
    rows = [
        _row(loop, stored[loop.number] if fits else {}, decisions, lanes) for loop in facts.loops
    ]
    return rows, fits and bool(stored)


def _named(
    decisions: Sequence[ScheduleDecision], stored: Sequence[Mapping[str, Any]]
) -> list[ScheduleDecision]:
    """Decisions with the names of their loops, if the workload does not tell them: the compiler
    names the parts of the loop ``ff`` ``ff_0``, ``ff_1`` and so on."""
    names = {
        loop["decisions"][0]["instruction"]: match[1]
        for loop in stored
        if len(loop["decisions"]) == 1 and (match := _PART.match(str(loop.get("name", ""))))
    }
    return [
        replace(one, title=f"tile of {names[one.instruction]}")
        if _NAMELESS.match(one.title) and one.instruction in names
        else one
        for one in decisions
    ]


def _row(
    loop: KernelLoop,
    stored: Mapping[str, Any],
    decisions: Mapping[int, ScheduleDecision],
    lanes: int | None,
) -> LoopRow:
    origins = [
        (decisions[one["instruction"]], decisions[one["instruction"]].part(one.get("result", 0)))
        for one in stored.get("decisions", [])
        if one["instruction"] in decisions
    ]
    unroll = decisions.get(stored["unroll"]) if stored.get("unroll") is not None else None
    is_odd = bool(lanes and loop.kind == "vectorised" and (loop.extent or 1) % lanes)
    return LoopRow(loop, origins, unroll, is_odd)


def _lines_of(loops: Sequence[KernelLoop]) -> dict[int, list[int]]:
    """The loops of each line of the text: those it opens, else the innermost around it."""
    lines: dict[int, list[int]] = {}
    for loop in loops:
        for line in range(loop.line, loop.last_line + 1):
            lines[line] = [loop.number]
    for loop in loops:
        lines[loop.line] = [one.number for one in loops if one.line == loop.line]
    return lines


def code_context(facts: GroupEvidence, tab: str, kind: str) -> dict[str, Any]:
    """A listing of a kernel's code; empty if it has none, ``lost`` if its bytes are gone.

    Args:
        tab: ``asm`` for assembly, with its machine loops; ``code`` for the other kinds.
        kind: The kind to show, if the kernel has it; ``kinds`` are all.
    """
    kernel = facts.group.site.kernel
    kinds = [one for one in kinds_of(kernel) if (one == "asm") == (tab == "asm")]
    if kernel is None or not kinds:
        return {}
    kind = kind if kind in kinds else kinds[0]
    try:
        code = kernel_text(kernel, kind)
    except NotFound as error:
        return {"lost": str(error)}
    loops = _lines_of(facts.loops) if kind == "tir" else {}
    context: dict[str, Any] = {"kinds": kinds, "kind": kind}
    if tab == "asm":
        rows = _machine_rows(kernel, facts, code.text)
        machine = [row.machine for row in rows]
        inner = [one for one in machine if not any(_within(other, one) for other in machine)]
        hottest = max(inner, key=lambda one: one.mix.packed + one.mix.scalar, default=None)
        context |= {"mix": facts.mix, "machine_loops": rows, "hottest_loop": hottest}
        for number, one in enumerate(machine):
            loops |= {line: [number] for line in range(one.line, one.last_line + 1)}
        if any(row.origin for row in rows):
            nest = kernel_text(kernel, "tir").text
            context["nest"] = listing("tir", nest, _nest_lines(facts.loops, rows))
    return context | {"listing": listing(kind, code.text, loops, is_cut=code.is_cut)}


def _machine_rows(kernel: Kernel, facts: GroupEvidence, assembly: str) -> list[MachineLoopRow]:
    """The loops of the machine code that compute, inner ones after those around them."""
    machine = machine_loops(assembly)
    rows, _ = _rows(kernel, facts)
    links: dict[int, int] = {}
    if rows and "llvm" in kinds_of(kernel):
        links = link_loops(machine, kernel_text(kernel, "llvm").text, facts.loops)
    busy = [
        MachineLoopRow(one, rows[links[at]] if at in links else None)
        for at, one in enumerate(machine)
        if one.mix.packed or one.mix.scalar
    ]
    return busy[:_MOST_MACHINE_LOOPS]


def _nest_lines(
    loops: Sequence[KernelLoop], rows: Sequence[MachineLoopRow]
) -> dict[int, list[int]]:
    """The machine loops of each line of the loop nest: those that came from the innermost loop
    around the line that has any."""
    machine: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        if row.origin:
            machine.setdefault(row.origin.loop.number, []).append(number)
    return {
        line: machine[loop.number]
        # Inner loops come later and replace those around them.
        for loop in loops
        if loop.number in machine
        for line in range(loop.line, loop.last_line + 1)
    }


def _within(one: MachineLoop, other: MachineLoop) -> bool:
    return other.line <= one.line and one.last_line <= other.last_line and one != other
