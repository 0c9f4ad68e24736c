"""A network as data flow: who computes what from what. Tensor names are gone, numbers remain.

Because nothing downstream can see a name, nothing downstream can depend on one: the graph hash,
the architecture class and the embedding are free of names by construction.
"""

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
        values: Its elements if they are few and stored, else ``None``.
        elements: Stored elements; of a sparse tensor, those that are not zero.
        overridable: It is a graph input too, so a caller may replace it and nobody may fold it.
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
        """The input at ``index``; ``None`` if left out: nobody checks contributed operators."""
        return self.inputs[index] if index < len(self.inputs) else None

    def number(self, name: str, default: int) -> int:
        """The integer attribute ``name``."""
        found = self.attributes.get(name)
        return found.i if found is not None and found.type == AttributeProto.INT else default

    def numbers(self, name: str) -> tuple[int, ...]:
        """The integer list attribute ``name``; empty if absent."""
        found = self.attributes.get(name)
        return tuple(found.ints) if found is not None else ()

    def text(self, name: str) -> str:
        """The string attribute ``name``; empty if absent."""
        found = self.attributes.get(name)
        return found.s.decode("utf-8", "replace") if found is not None else ""


@dataclass(slots=True, eq=False)
class Body:
    """A graph or subgraph: steps in the order of the file, which is an order of data flow."""

    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    steps: list[Step] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Flow:
    """A whole model.

    Attributes:
        main: The main graph; its inputs are those a caller must give.
        constants: By value number, of all graphs.
        shapes: By value number, where known; an open dimension is ``None``.
        dtypes: By value number, where known.
        opsets: Domain to version.
    """

    main: Body
    constants: dict[int, Constant]
    shapes: dict[int, Shape]
    dtypes: dict[int, int]
    opsets: dict[str, int]

    def steps(self) -> Iterator[Step]:
        """Every step, those of bodies after the step that holds them."""
        stack = [self.main]
        while stack:
            body = stack.pop()
            for step in body.steps:
                yield step
                stack.extend(step.bodies.values())

    def shape(self, value: int | None) -> Shape | None:
        """Shape of a value; ``None`` if its rank is unknown or it is left out."""
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
        known = set(self.constants)
        for step in self.steps():
            sources = [value for value in (*step.inputs, *step.captured) if value is not None]
            if all(value in known for value in sources) and not step.op.startswith("Random"):
                known.update(value for value in step.outputs if value is not None)
        return known - set(self.main.inputs)
