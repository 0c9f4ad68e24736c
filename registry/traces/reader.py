"""Follows blocks and loops through the instructions of a sketch."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from registry.traces.errors import TraceError
from registry.traces.names import LoopAxis, WorkloadNames, shown


class DecisionKind(StrEnum):
    """What is decided: factors of a loop, one of a list of values, or a place."""

    TILE = "tile"
    CHOICE = "choice"
    LOCATION = "location"


#: Instructions that make a decision.
SAMPLES = {
    "SamplePerfectTile": DecisionKind.TILE,
    "SampleCategorical": DecisionKind.CHOICE,
    "SampleComputeLocation": DecisionKind.LOCATION,
}
_PREFIX = "meta_schedule."
_STRUCTURE = "meta_schedule.tiling_structure"
#: Longest description of an instruction.
_MOST_WORDS = 200
#: Blocks that an instruction makes or names, relative to its first block.
_RELATIVES = {
    "GetConsumers": "consumer",
    "GetProducers": "producer",
    "CacheRead": "copy",
    "CacheWrite": "result",
    "RFactor": "partial results",
    "DecomposeReduction": "initial values",
}


@dataclass(frozen=True, slots=True)
class SketchLoop:
    """A loop in a sketch: an axis, several fused ones, or a part of them after a split.

    Attributes:
        axes: What it iterates over.
        level: Number of the part, outermost 0; ``None`` if it was not split.
        parts: Number of parts of the split.
        tile: Position of the instruction that decides the parts.
    """

    axes: tuple[LoopAxis, ...]
    level: int | None = None
    parts: int = 1
    tile: int | None = None

    @property
    def name(self) -> str:
        """Name of its axes: ``ff``, ``k1 and k2``, ``loop 3``."""
        return " and ".join(axis.label for axis in self.axes)

    @property
    def label(self) -> str:
        """As TVM names parts: ``ff_2``."""
        joined = "_".join(axis.name or f"loop{axis.position}" for axis in self.axes)
        return joined if self.level is None else f"{joined}_{self.level}"


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """An instruction whose value a schedule chooses.

    Attributes:
        instruction: Position in the sketch.
        key, title: See :class:`registry.traces.sketch.Decision`.
        loop: What a tile divides.
        parts: Number of a tile's factors.
        options: Values to choose from.
        block: Block whose place is decided.
    """

    instruction: int
    kind: DecisionKind
    key: str
    title: str
    loop: SketchLoop | None = None
    parts: int = 0
    options: tuple[Any, ...] = ()
    block: str = ""


class SketchReader:
    """One pass over the instructions; see :class:`registry.traces.sketch.Sketch`."""

    def __init__(self, instructions: Sequence[Any], names: WorkloadNames) -> None:
        self.points: list[DecisionPoint] = []
        self.fixed: dict[str, tuple[str, str]] = {}
        self.annotations: dict[str, int] = {}
        self.orders: dict[str, tuple[SketchLoop, ...]] = {}
        self.structures: dict[str, str] = {}
        # Of each instruction its kind and what it applies to, in words.
        self.steps: list[tuple[str, str]] = []
        self._names = names
        self._blocks: dict[str, str] = {}
        self._loops: dict[str, SketchLoop] = {}
        # Annotations by the sampled value that they hold, without their prefix.
        self._uses: dict[str, str] = {}
        self._tiles: dict[str, int] = {}
        # Blocks with other loops than in the workload.
        self._changed: set[str] = set()
        for at, instruction in enumerate(instructions):
            try:
                kind, inputs, attributes, outputs = instruction
                if kind == "Annotate":
                    self._uses[str(inputs[1])] = str(attributes[0]).removeprefix(_PREFIX)
            except (IndexError, TypeError, ValueError) as error:
                raise TraceError(f"instruction {at} is malformed: {instruction!r}") from error
        for at, (kind, inputs, attributes, outputs) in enumerate(instructions):
            try:
                self._read(at, kind, inputs, attributes, outputs)
                self.steps.append((str(kind), self._words(inputs, attributes)))
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise TraceError(f"instruction {at} is malformed: {instructions[at]!r}") from error

    def _read(self, at: int, kind: str, inputs: Any, attributes: Any, outputs: Any) -> None:
        if kind in SAMPLES:
            self._add(self._point(at, SAMPLES[kind], inputs, attributes, outputs))
            self._tiles |= dict.fromkeys(outputs, at)
        elif kind == "GetSBlock":
            self._blocks[outputs[0]] = str(attributes[0])
        elif kind == "GetLoops":
            self._get_loops(self._block(inputs[0]), outputs)
        elif kind == "Split":
            self._split(inputs, outputs)
        elif kind == "Fuse":
            axes = tuple(axis for each in inputs for axis in self._loop(each).axes)
            self._loops[outputs[0]] = SketchLoop(axes)
        elif kind == "Reorder":
            order = tuple(self._loop(each) for each in inputs)
            self.orders[order[0].axes[0].block] = order
        elif kind == "ReverseComputeAt":
            block = self._block(inputs[0])
            self._changed.add(block)
            title = f"place of {shown(block)}"
            self._fix(f"place:{shown(block)}", title, f"under {self._loop(inputs[1]).label}")
        elif kind == "Annotate":
            self._annotate(inputs, attributes)
        elif kind in _RELATIVES:
            self._relatives(kind, inputs, outputs)

    def _get_loops(self, block: str, outputs: Sequence[str]) -> None:
        names = WorkloadNames() if block in self._changed else self._names
        for axis, loop in zip(names.axes(block, len(outputs)), outputs, strict=True):
            self._loops[loop] = SketchLoop((axis,))
        self._changed.add(block)

    def _split(self, inputs: Sequence[Any], outputs: Sequence[str]) -> None:
        loop = self._loop(inputs[0])
        tile = self._tiles.get(str(inputs[1]))
        for level, output in enumerate(outputs):
            self._loops[output] = SketchLoop(loop.axes, level, len(outputs), tile)

    def _annotate(self, inputs: Sequence[Any], attributes: Sequence[Any]) -> None:
        block, value = inputs
        if attributes[0] == _STRUCTURE:
            self.structures[shown(self._block(block))] = str(value)
        elif isinstance(value, int) and attributes[0].startswith(_PREFIX):
            self.annotations[attributes[0].removeprefix(_PREFIX)] = value

    def _relatives(self, kind: str, inputs: Sequence[Any], outputs: Sequence[str]) -> None:
        if kind == "RFactor":
            loop = self._loop(inputs[0])
            block = loop.axes[0].block
            self._fix(f"rfactor:{block}", f"parallel reduction of {block}", f"over {loop.label}")
        else:
            block = shown(self._block(inputs[0]))
        single = self._names.consumer(self._blocks.get(str(inputs[0]), ""))
        for number, output in enumerate(outputs):
            name = f"the {_RELATIVES[kind]} of {block}" + (f" {number + 1}" if number else "")
            if kind == "GetConsumers" and single and len(outputs) == 1:
                name = single
            self._blocks[output] = name

    def _point(
        self, at: int, kind: DecisionKind, inputs: Any, attributes: Any, outputs: Any
    ) -> DecisionPoint:
        match kind:
            case DecisionKind.TILE:
                loop = self._loop(inputs[0])
                places = "+".join(str(axis.position) for axis in loop.axes)
                key = f"tile:{loop.axes[0].block}:{places}:{attributes[0]}"
                return DecisionPoint(
                    at, kind, key, f"tile of {loop.name}", loop, parts=attributes[0]
                )
            case DecisionKind.CHOICE:
                use = self._uses.get(outputs[0], "")
                title = "unroll limit" if "unroll" in use else use or "choice"
                return DecisionPoint(
                    at, kind, f"choice:{use}", title, options=tuple(map(_value, attributes[0]))
                )
            case DecisionKind.LOCATION:
                block = self._block(inputs[0])
                name = shown(block)
                return DecisionPoint(at, kind, f"location:{name}", f"place of {name}", block=block)

    def _add(self, point: DecisionPoint) -> None:
        """Keep keys unique: the same loop may be divided twice."""
        count = sum(each.key.split("#")[0] == point.key for each in self.points)
        if count:
            point = DecisionPoint(
                point.instruction, point.kind, f"{point.key}#{count + 1}",
                f"{point.title}, {count + 1}", point.loop, point.parts, point.options, point.block,
            )  # fmt: skip
        self.points.append(point)

    def _fix(self, key: str, title: str, text: str) -> None:
        self.fixed.setdefault(key, (title, text))

    def _words(self, inputs: Sequence[Any], attributes: Sequence[Any]) -> str:
        """Inputs by the names of blocks and loops, and attributes, of bounded length."""
        named = [
            shown(self._blocks[each])
            if each in self._blocks
            else self._loops[each].label
            if each in self._loops
            else "its value"
            if each in self._tiles
            else str(each)
            for each in map(str, inputs)
        ]
        texts = [*dict.fromkeys(named), *(str(each).strip('"') for each in attributes)]
        text = ", ".join(texts)
        return text if len(text) <= _MOST_WORDS else text[: _MOST_WORDS - 1] + "…"

    def _block(self, name: str) -> str:
        return self._blocks[name]

    def _loop(self, name: str) -> SketchLoop:
        return self._loops[name]


def _value(option: Any) -> Any:
    return option if isinstance(option, int | float | str) else str(option)
