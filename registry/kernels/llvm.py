"""Finds the loops of a kernel in its LLVM IR, the compiler's last form before machine code.

TVM names the blocks of a loop over ``ff`` ``for_begin_ff``, ``for_body_ff`` and ``for_end_ff``, and
its variable ``ff``. LLVM's optimisations keep such names or add suffixes to them. See
``CodeGenLLVM::CreateSerialFor`` in TVM.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import rustworkx

_DEFINE = re.compile(r"^define [^@]*@\"?([\w$.]+)\"?\(")
_BLOCK = re.compile(r"^\"?([\w$.\-]+)\"?:")
_TARGET = re.compile(r"\blabel %\"?([\w$.\-]+)\"?")
_PHI = re.compile(r"^\s+%\"?([\w$.\-]+)\"? = phi i\d+ (.*)$")
_START = re.compile(r"\[ (-?\d+), %")
_STEP = re.compile(r"^\s+%\"?([\w$.\-]+)\"? = add [a-z ]*i\d+ %\"?([\w$.\-]+)\"?, (-?\d+)")
_BOUND = re.compile(
    r" = icmp [a-z ]*?(?:eq|ne|[su]l[te]|[su]g[te]) i\d+ %\"?([\w$.\-]+)\"?, (-?\d+)"
)
_ARITHMETIC = re.compile(
    # A comparison of numbers becomes a maximum, minimum or mask.
    r" = (?:[a-z ]*\b)?f(?:add|sub|mul|div|cmp)\b"
    r"|@llvm\.(?:fma|fmuladd|minnum|maxnum|minimum|maximum|sqrt)\."
    r"|@llvm\.(?:x86|aarch64)\.[\w.]*(?:vpdp|pmadd|dpbf16|dot|mmla|fml|tdp)"
)


@dataclass(frozen=True, slots=True)
class CompiledLoop:
    """A loop of the IR.

    Attributes:
        header: Name of its first block.
        parent: Position of the loop around it in the list of its function; ``None`` at the top.
        variables: Names of the integers that change with its iterations.
        trips: Number of iterations, if its start, step and end are constants.
        has_arithmetic: Whether floating-point numbers, or dot products of integers, are computed.
    """

    header: str
    parent: int | None
    variables: tuple[str, ...]
    trips: int | None
    has_arithmetic: bool


def compiled_loops(text: str) -> dict[str, list[CompiledLoop]]:
    """Loops by name of their function; outer loops come before the loops they contain, and loops
    that follow each other are in the order of execution."""
    return {name: _loops(blocks) for name, blocks in _functions(text)}


def _functions(text: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Name and blocks of each function: the lines of a block by its name, the entry first."""
    name, blocks, lines = "", dict[str, list[str]](), list[str]()
    for line in text.splitlines():
        if define := _DEFINE.match(line):
            # A first block may lack a name.
            name, lines = define[1], []
            blocks = {"": lines}
        elif name and line == "}":
            yield name, {block: content for block, content in blocks.items() if content}
            name = ""
        elif name and (block := _BLOCK.match(line)):
            lines = blocks.setdefault(block[1], [])
        elif name and line.strip():
            lines.append(line)


def _loops(blocks: Mapping[str, list[str]]) -> list[CompiledLoop]:
    names = list(blocks)
    if not names:
        return []
    place = {name: number for number, name in enumerate(names)}
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(names)
    for name, lines in blocks.items():
        for target in _TARGET.findall("\n".join(lines)):
            if target in place:
                graph.add_edge(place[name], place[target], None)
    bodies = _bodies(graph)
    order = _order(graph, bodies)
    # A loop is smaller than those around it, whose headers are executed before its own.
    headers = sorted(bodies, key=lambda header: (order[header], -len(bodies[header])))
    loops = []
    for header in headers:
        body = bodies[header]
        around = [one for one in headers if one != header and header in bodies[one]]
        inner = min(around, key=lambda one: len(bodies[one]), default=None)
        variables, trips = _induction(blocks, names, header, body)
        loops.append(
            CompiledLoop(
                header=names[header],
                parent=None if inner is None else headers.index(inner),
                variables=variables,
                trips=trips,
                has_arithmetic=any(
                    _ARITHMETIC.search(line) for at in body for line in blocks[names[at]]
                ),
            )
        )
    return loops


def _bodies(graph: "rustworkx.PyDiGraph[str, None]") -> dict[int, set[int]]:
    """Blocks of each natural loop by its header: those that reach an edge back to the header
    without passing it."""
    dominators = rustworkx.immediate_dominators(graph, 0)
    bodies: dict[int, set[int]] = {}
    for source, header in graph.edge_list():
        if source not in dominators or not _dominates(dominators, header, source):
            continue
        body = bodies.setdefault(header, {header})
        waiting = [source]
        while waiting:
            block = waiting.pop()
            if block not in body and block in dominators:
                body.add(block)
                waiting += graph.predecessor_indices(block)
    return bodies


def _dominates(dominators: Mapping[int, int], block: int, other: int) -> bool:
    while other != block and dominators[other] != other:
        other = dominators[other]
    return other == block


def _order(
    graph: "rustworkx.PyDiGraph[str, None]", bodies: Mapping[int, set[int]]
) -> dict[int, int]:
    """Position of each block in an order of execution, in which no loop is repeated."""
    forward = graph.copy()
    for header, body in bodies.items():
        for source in list(forward.predecessor_indices(header)):
            if source in body:
                forward.remove_edge(source, header)
    try:
        ordered = rustworkx.topological_sort(forward)
    except rustworkx.DAGHasCycle:
        # Jumps into loops: the text's order.
        ordered = graph.node_indices()
    return {block: at for at, block in enumerate(ordered)}


def _induction(
    blocks: Mapping[str, list[str]], names: list[str], header: int, body: set[int]
) -> tuple[tuple[str, ...], int | None]:
    """Variables of a loop, and its number of iterations if the text states it."""
    variables: dict[str, int | None] = {}
    for line in blocks[names[header]]:
        if match := _PHI.match(line):
            start = _START.search(match[2])
            variables[match[1]] = int(start[1]) if start else None
    steps, bounds = dict[str, tuple[str, int]](), dict[str, int]()
    for at in body:
        for line in blocks[names[at]]:
            if match := _STEP.match(line):
                steps[match[1]] = (match[2], int(match[3]))
            if match := _BOUND.search(line):
                bounds[match[1]] = int(match[2])
    for stepped, (variable, step) in steps.items():
        first, last = variables.get(variable), bounds.get(stepped)
        if first is not None and last is not None and step and (last - first) % step == 0:
            return tuple(variables), (last - first) // step
    return tuple(variables), None
