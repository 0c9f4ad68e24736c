"""Reads the loops of a kernel from the text of its loop nest in TVM's script.

The script is valid Python, so it is parsed by :mod:`ast` and never run. Footprints are computed by
interval arithmetic over the index expressions that the script states for each block.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from registry.kernels.dtypes import bytes_of
from registry.kernels.footprint import RegionBlock, footprint
from registry.kernels.syntax import integer, name_of, string_of

LoopKind = Literal["serial", "parallel", "vectorised", "unrolled", "thread"]

#: Longest text that is parsed; kernels of real networks have a few kilobytes.
MOST_CHARACTERS = 400_000
_KINDS: dict[str, LoopKind] = {
    "serial": "serial",
    "grid": "serial",
    "parallel": "parallel",
    "vectorized": "vectorised",
    "unroll": "unrolled",
    "thread_binding": "thread",
}


@dataclass(frozen=True, slots=True)
class KernelLoop:
    """A loop of a kernel.

    Attributes:
        number: Position in the text; outer loops come before inner ones.
        parent: Number of the loop around it; ``None`` at the top.
        extent: Number of iterations; ``None`` if it is not constant.
        line: Line of the text, from 1; the loops of a grid share one.
        last_line: Last line of its body.
        thread: GPU index that the loop is bound to, such as ``blockIdx.x``.
        unroll: Most steps up to which its body is unrolled, if that is stated.
        trips: Iterations in one run of the kernel; ``None`` if some extent is not constant.
        footprint: Bytes that one execution of the loop touches, at most; ``None`` if unknown.
    """

    number: int
    parent: int | None
    depth: int
    name: str
    extent: int | None
    kind: LoopKind
    line: int
    last_line: int
    thread: str
    unroll: int | None
    trips: int | None
    footprint: int | None


@dataclass(slots=True)
class _Open:
    """A loop while the text is read."""

    name: str
    parent: int | None
    depth: int
    extent: int | None
    kind: LoopKind
    line: int
    last_line: int
    thread: str
    unroll: int | None
    inner: int = 0
    # Index intervals are computed for these: statements of reads and writes inside.
    blocks: list[RegionBlock] = field(default_factory=list)


def loops_of(text: str) -> list[KernelLoop]:
    """Loops of a kernel in the order of the text; empty if it cannot be parsed."""
    if len(text) > MOST_CHARACTERS:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    reader = _Reader()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            reader.function(node)
    return reader.loops()


class _Reader:
    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._sizes: dict[str, int] = {}

    def function(self, node: ast.FunctionDef) -> None:
        for argument in node.args.args:
            self._buffer(argument.arg, argument.annotation)
        self._body(node.body, [])

    def loops(self) -> list[KernelLoop]:
        return [
            KernelLoop(
                number=number,
                parent=one.parent,
                depth=one.depth,
                name=one.name,
                extent=one.extent,
                kind=one.kind,
                line=one.line,
                last_line=one.last_line,
                thread=one.thread,
                unroll=one.unroll,
                trips=self._trips(one),
                footprint=self._footprint(number),
            )
            for number, one in enumerate(self._open)
        ]

    def _body(self, statements: Sequence[ast.stmt], around: list[int]) -> None:
        block: dict[str, ast.expr] = {}
        regions: list[ast.Subscript] = []
        for statement in statements:
            match statement:
                case ast.For():
                    self._body(statement.body, [*around, *self._enter(statement, around)])
                case ast.With():
                    self._body(statement.body, around)
                case ast.If():
                    self._body(statement.body, around)
                    self._body(statement.orelse, around)
                case ast.Assign(targets=[target], value=ast.Call() as call):
                    self._assign(target, call, block)
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="reads" | "writes")) as call):
                    regions += _subscripts(call.args)
        if regions:
            made = RegionBlock(tuple(around), block, regions)
            for number in around:
                self._open[number].blocks.append(made)

    def _enter(self, loop: ast.For, around: Sequence[int]) -> list[int]:
        """Add the loops of a ``for`` statement, several for a grid; returns their numbers."""
        call = loop.iter if isinstance(loop.iter, ast.Call) else None
        function = name_of(call.func) if call else ""
        keywords = {one.arg: one.value for one in call.keywords} if call else {}
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        arguments = call.args if call else []
        if function != "grid":
            # ``range(stop)`` or ``range(start, stop)``.
            arguments = arguments[-1:] if len(arguments) < 2 else [_span(arguments)]
        added: list[int] = []
        outer = around[-1] if around else None
        for n, target in enumerate(targets):
            parent = added[-1] if added else outer
            if parent is not None:
                self._open[parent].inner += 1
            added.append(len(self._open))
            self._open.append(
                _Open(
                    name=target.id if isinstance(target, ast.Name) else "?",
                    parent=parent,
                    depth=len(around) + n,
                    extent=integer(arguments[n]) if n < len(arguments) else None,
                    kind=_KINDS.get(function, "serial"),
                    line=loop.lineno,
                    last_line=loop.end_lineno or loop.lineno,
                    thread=string_of(keywords.get("thread")),
                    unroll=_unroll(keywords.get("annotations")),
                )
            )
        return added

    def _assign(self, target: ast.expr, call: ast.Call, block: dict[str, ast.expr]) -> None:
        function = name_of(call.func)
        if function == "remap" and len(call.args) == 2 and isinstance(call.args[1], ast.List):
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            pairs = zip(names, call.args[1].elts, strict=False)
            block.update({name.id: value for name, value in pairs if isinstance(name, ast.Name)})
        elif function in {"spatial", "reduce", "scan", "opaque"} and len(call.args) == 2:
            if isinstance(target, ast.Name):
                block[target.id] = call.args[1]
        elif function in {"sblock_alloc_buffer", "alloc_buffer"} and isinstance(target, ast.Name):
            self._buffer(target.id, call)

    def _buffer(self, name: str, shape: ast.expr | None) -> None:
        """Note the bytes of an element of a buffer."""
        if isinstance(shape, ast.Call):
            types = [*shape.args[1:2], *(k.value for k in shape.keywords if k.arg == "dtype")]
            self._sizes[name] = bytes_of(string_of(types[0]) if types else "float32")

    def _trips(self, loop: _Open) -> int | None:
        trips, current = 1, loop
        while True:
            if current.extent is None:
                return None
            trips *= current.extent
            if current.parent is None:
                return trips
            current = self._open[current.parent]

    def _footprint(self, number: int) -> int | None:
        outside = set(self._around(number))
        extents = {
            at: (one.name, 1 if at in outside else one.extent) for at, one in enumerate(self._open)
        }
        return footprint(self._open[number].blocks, extents, self._sizes)

    def _around(self, number: int) -> Iterator[int]:
        parent = self._open[number].parent
        while parent is not None:
            yield parent
            parent = self._open[parent].parent


def _span(arguments: Sequence[ast.expr]) -> ast.expr:
    start, stop = integer(arguments[0]), integer(arguments[1])
    return ast.Constant(None if start is None or stop is None else stop - start)


def _subscripts(arguments: Sequence[ast.expr]) -> list[ast.Subscript]:
    return [one for one in arguments if isinstance(one, ast.Subscript)]


def _unroll(annotations: ast.expr | None) -> int | None:
    if isinstance(annotations, ast.Dict):
        for key, value in zip(annotations.keys, annotations.values, strict=True):
            if string_of(key) == "pragma_auto_unroll_max_step":
                return integer(value)
    return None
