"""A network as data flow, numbered instead of named, so that nothing can depend on a name."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
from onnx import AttributeProto

Shape = tuple[int | None, ...]
Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor stored in the file.

    Attributes:
        values: Its elements if they are few and stored in the file, else ``None``.
        elements: Number of stored elements; of a sparse tensor, the non-zero ones.
        overridable: It is also a graph input: callers may replace it, so it must not be folded.
    """

    dtype: int
    shape: tuple[int, ...]
    elements: int
    values: Values | None = None
    overridable: bool = False


@dataclass(slots=True, eq=False)
class Step:
    """One node. ``inputs`` and ``outputs`` are value numbers, ``None`` where left out.

    Attributes:
        op: Operator type; ``domain::Op`` outside ``ai.onnx``.
        bodies: Subgraphs by attribute name.
        captured: Values of outer graphs that the bodies read, in order of first use.
    """

    op: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    attributes: dict[str, AttributeProto]
    bodies: dict[str, "Body"] = field(default_factory=dict)
    captured: tuple[int, ...] = ()

    def input(self, index: int) -> int | None:
        """The input at ``index``; ``None`` if omitted. Only standard operators are validated."""
        return self.inputs[index] if index < len(self.inputs) else None

    def number(self, name: str, default: int) -> int:
        """The integer attribute ``name``."""
        attribute = self.attributes.get(name)
        is_integer = attribute is not None and attribute.type == AttributeProto.INT
        return attribute.i if attribute is not None and is_integer else default

    def numbers(self, name: str) -> tuple[int, ...]:
        """The integer list attribute ``name``; empty if absent."""
        attribute = self.attributes.get(name)
        return tuple(attribute.ints) if attribute is not None else ()

    def text(self, name: str) -> str:
        """The string attribute ``name``; empty if absent."""
        attribute = self.attributes.get(name)
        return attribute.s.decode("utf-8", "replace") if attribute is not None else ""


@dataclass(slots=True, eq=False)
class Body:
    """A graph or subgraph, with its steps in the topological order of the file."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    steps: list[Step] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Flow:
    """A whole model.

    Attributes:
        main: The main graph; its inputs are those that a caller must provide.
        constants: Value number to constant, of all graphs.
        shapes, dtypes: Value number to shape and element type, if known; a dynamic dimension is
            ``None``.
        opsets: Domain to version.
    """

    main: Body
    constants: dict[int, Constant]
    shapes: dict[int, Shape]
    dtypes: dict[int, int]
    opsets: dict[str, int]

    def steps(self) -> Iterator[Step]:
        """Every step; steps of a body follow the step that contains it."""
        stack = [self.main]
        while stack:
            body = stack.pop()
            for step in body.steps:
                yield step
                stack.extend(step.bodies.values())

    def shape(self, value: int | None) -> Shape | None:
        """Shape of a value; ``None`` if its rank is unknown or the value is omitted."""
        if value is None:
            return None
        constant = self.constants.get(value)
        return constant.shape if constant else self.shapes.get(value)

    def values(self, value: int | None) -> Values | None:
        """Elements of a small constant; ``None`` for anything else."""
        constant = self.constants.get(value) if value is not None else None
        return constant.values if constant else None

    def fixed(self) -> set[int]:
        """Values that are the same in every run: constants and what is computed from them only."""
        fixed = set(self.constants)
        for step in self.steps():
            sources = [value for value in (*step.inputs, *step.captured) if value is not None]
            if all(value in fixed for value in sources) and not step.op.startswith("Random"):
                fixed.update(value for value in step.outputs if value is not None)
        return fixed - set(self.main.inputs)
