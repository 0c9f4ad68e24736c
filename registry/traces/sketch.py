"""Reads the instructions of a sketch.

A sketch is a list of ``[kind, inputs, attributes, outputs]``; inputs and outputs are names of
blocks (``b0``), loops (``l1``) and values (``v2``). Instructions with decisions are
``SamplePerfectTile`` (factors of a loop's length, outermost first), ``SampleCategorical`` (index
into the list in its first attribute) and ``SampleComputeLocation`` (number of a loop of the
consumer, -1 for the root, -2 for inlining).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from registry.traces.errors import TraceError
from registry.traces.names import WorkloadNames, shown
from registry.traces.reader import DecisionKind, DecisionPoint, SketchLoop, SketchReader


@dataclass(frozen=True, slots=True)
class Decision:
    """One value that a schedule chose.

    Attributes:
        instruction: Position of its instruction in the sketch.
        key: Equal for the same decision of all sketches of a workload.
        title: What is decided: ``tile of ff``.
        value: As in the trace: factors, an index, or the number of a loop.
        text: The value in words: ``[4, 1, 8, 16]``, ``512``, ``under xx_1``.
    """

    instruction: int
    key: str
    title: str
    value: Any
    text: str


class Sketch:
    """A sketch with its decisions still open.

    Attributes:
        instructions: As stored.
        points: What is to be decided, in the order of the instructions.
        fixed: Title by key, and value in words, of what the sketch itself decides, such as
            where the consumer of a tiled block is computed.
        order: The loops of the tiled block from the outermost to the innermost; empty if it tiles
            no block or several.
        is_spatial: Of each loop of ``order``, or empty if that is not derivable.
        annotations: Limits for the postprocessing: ``parallel``, ``vectorize``.

    Raises TraceError if it is not in the format.
    """

    def __init__(self, instructions: Sequence[Any], names: WorkloadNames | None = None) -> None:
        self.instructions = instructions
        self._names = names or WorkloadNames()
        reader = SketchReader(instructions, self._names)
        self.points: tuple[DecisionPoint, ...] = tuple(reader.points)
        self.fixed: dict[str, tuple[str, str]] = reader.fixed
        self.annotations: dict[str, int] = reader.annotations
        self._steps = reader.steps
        self._at = {point.instruction: point for point in self.points}
        orders = list(reader.orders.items())
        self._tiled, self.order = orders[0] if len(orders) == 1 else ("", ())
        self.is_spatial = _spatial(self.order, reader.structures.get(self._tiled, ""))

    def decisions(self, values: Sequence[Sequence[Any]]) -> tuple[Decision, ...]:
        """The decisions of a trial, ``[instruction, value]`` each. Raises TraceError if they do not
        fit the sketch."""
        result = []
        for entry in values:
            point = self._point(entry)
            text = self.text_of(point, entry[1])
            result.append(Decision(point.instruction, point.key, point.title, entry[1], text))
        return tuple(result)

    def steps(self, values: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
        """Kind of each instruction, and what it does in words, with the decisions of a trial.
        Raises TraceError if they do not fit the sketch."""
        steps = list(self._steps)
        for decision in self.decisions(values):
            kind, _ = steps[decision.instruction]
            steps[decision.instruction] = kind, f"{decision.title} {decision.text}"
        return steps

    def text_of(self, point: DecisionPoint, value: Any) -> str:
        """A value of one of :attr:`points` in words. Raises TraceError if it does not fit."""
        if not _is_value(point, value):
            raise TraceError(f"{value!r} is no {point.title}")
        match point.kind:
            case DecisionKind.TILE:
                return "[" + ", ".join(map(str, value)) + "]"
            case DecisionKind.CHOICE:
                return str(point.options[value])
            case DecisionKind.LOCATION:
                return self._location(point, value)

    def fits(self, values: Any) -> bool:
        """Whether ``values`` decide all points, in their order."""
        if not isinstance(values, list | tuple) or len(values) != len(self.points):
            return False
        return all(
            isinstance(entry, list | tuple)
            and len(entry) == 2
            and entry[0] == point.instruction
            and _is_value(point, entry[1])
            for point, entry in zip(self.points, values, strict=True)
        )

    def _point(self, entry: Sequence[Any]) -> DecisionPoint:
        try:
            instruction, _ = entry
            return self._at[instruction]
        except (KeyError, TypeError, ValueError) as error:
            raise TraceError(f"{entry!r} is no decision of the sketch") from error

    def _location(self, point: DecisionPoint, value: int) -> str:
        if value == -2:
            return "inlined"
        if value == -1:
            return "at the root"
        # Its loops are those of the tiled block, if that is what reads the block.
        consumer = self._names.consumer(point.block)
        if consumer and shown(consumer) == self._tiled and value < len(self.order):
            return f"under {self.order[value].label}"
        return f"under loop {value}"


def _is_value(point: DecisionPoint, value: Any) -> bool:
    match point.kind:
        case DecisionKind.TILE:
            return (
                isinstance(value, list | tuple)
                and len(value) == point.parts
                and all(type(factor) is int and factor > 0 for factor in value)
            )
        case DecisionKind.CHOICE:
            return type(value) is int and 0 <= value < len(point.options)
        case DecisionKind.LOCATION:
            return type(value) is int and value >= -2


def _spatial(order: Sequence[SketchLoop], structure: str) -> tuple[bool, ...]:
    """Whether each loop is spatial: by the workload's axes, else by the number of parts, which
    differs between spatial loops and reductions in the tiling structure, such as ``SSRSRS``."""
    spatial, reduction = structure.count("S"), structure.count("R")
    result = []
    for loop in order:
        kinds = {axis.kind for axis in loop.axes}
        if kinds == {"spatial"} or (spatial != reduction and loop.parts == spatial):
            result.append(True)
        elif kinds == {"reduction"} or (spatial != reduction and loop.parts == reduction):
            result.append(False)
        else:
            return ()
    return tuple(result)
