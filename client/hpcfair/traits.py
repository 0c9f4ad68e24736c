"""Traits of schedules: statements about decisions that are true or false of any schedule.

A trait is stated of loops by their role, such as the last spatial loop, and not of one workload, so
that schedules of different workloads can have the same one. The hub tests which traits fast
schedules share; searches try schedules with such traits first. Both evaluate them here.

Schedules are a sketch and decisions in the format of TVM's traces, as plain JSON: an instruction is
``[kind, inputs, attributes, outputs]``, a decision ``[index of its instruction, value]``. A tile
has the factors of a loop's length, outermost first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, Final, Literal

Kind = Literal["inner_multiple", "inner_at_least", "outer_at_least", "block_at_least", "unroll"]

#: Version of the definitions below. A trait of another version may mean something else.
VERSION: Final = 1

_TILE, _CATEGORY = "SamplePerfectTile", "SampleCategorical"
#: Tiles of spatial loops have more factors than this, those of reductions as many or fewer.
_REDUCTION_PARTS = 2

_LOOPS: Final = {
    "spatial-1": "the last spatial loop",
    "spatial-2": "the second last spatial loop",
    "spatial-3": "the third last spatial loop",
    "reduction-1": "the last reduction",
}
#: What these loops run over, by anchor.
_MEANINGS: Final[dict[str, dict[str, str]]] = {
    "conv2d_nhwc": {
        "spatial-1": "the output channels",
        "spatial-2": "the width",
        "spatial-3": "the height",
        "reduction-1": "the input channels",
    },
    "conv2d_nchw": {
        "spatial-1": "the width",
        "spatial-2": "the height",
        "spatial-3": "the output channels",
        "reduction-1": "the width of the filter",
    },
    "matmul": {
        "spatial-1": "the columns of the result",
        "spatial-2": "the rows of the result",
        "reduction-1": "the inner dimension",
    },
}


@dataclass(frozen=True, slots=True, order=True)
class Trait:
    """A statement about a schedule.

    Attributes:
        kind: ``inner_multiple``, ``inner_at_least``: the innermost factor of ``loop`` is a multiple
            of ``value``, or not below it; ``outer_at_least``: its outermost factor is not below
            ``value``; ``block_at_least``: the product of the innermost factors of all spatial loops
            is not below it; ``unroll``: loops of up to ``value`` iterations or more are unrolled.
        loop: A role such as ``spatial-1``, the last spatial loop; "" for traits of the whole.
    """

    kind: Kind
    loop: str
    value: int

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Trait":
        """The trait of :meth:`to_json`. Raises ``ValueError``, also for an unknown one."""
        try:
            trait = cls(document["kind"], str(document["loop"]), int(document["value"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a trait: {error}") from error
        if trait not in TRAITS:
            raise ValueError(f"there is no trait {trait.kind!r} of {trait.loop!r}")
        return trait

    def to_json(self) -> dict[str, Any]:
        """The trait as JSON."""
        return asdict(self)

    def words(self, anchor: str = "") -> str:
        """The statement in words, with those of the anchor's loops where they are known."""
        loop = _MEANINGS.get(anchor, {}).get(self.loop) or _LOOPS.get(self.loop, "")
        match self.kind:
            case "inner_multiple":
                return f"the innermost loop over {loop} runs a multiple of {self.value} times"
            case "inner_at_least":
                return f"the innermost loop over {loop} runs {self.value} times or more"
            case "outer_at_least":
                return f"the outermost loop over {loop} runs {self.value} times or more"
            case "block_at_least":
                return f"the innermost spatial loops compute {self.value} elements or more together"
        return f"loops of up to {self.value} iterations, or longer ones, are unrolled"


#: All traits that are examined. Small numbers of vector registers and lanes: 4 to 16 float32.
TRAITS: Final[tuple[Trait, ...]] = (
    *(Trait("inner_multiple", loop, value) for loop in ("spatial-1",) for value in (4, 8, 16)),
    *(
        Trait("inner_at_least", loop, value)
        for loop in ("spatial-1", "spatial-2", "spatial-3")
        for value in (2, 4)
    ),
    *(Trait("inner_at_least", "reduction-1", value) for value in (4, 16)),
    *(
        Trait("outer_at_least", loop, 2)
        for loop in ("spatial-1", "spatial-2", "spatial-3", "reduction-1")
    ),
    *(Trait("block_at_least", "", value) for value in (16, 32, 64)),
    *(Trait("unroll", "", value) for value in (16, 64, 512)),
)


def holds(trait: Trait, sketch: Sequence[Any], decisions: Sequence[Any]) -> bool | None:
    """Whether a schedule has a trait; ``None`` if the trait says nothing about it, because it has
    no such loop or decision. ``None`` also for a sketch that is not in the format."""
    try:
        return _holds(trait, sketch, decisions)
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _holds(trait: Trait, sketch: Sequence[Any], decisions: Sequence[Any]) -> bool | None:
    if trait.kind == "unroll":
        return _unrolls(trait.value, sketch, decisions)
    tiles = [value for index, value in decisions if sketch[index][0] == _TILE]
    spatial = [tile for tile in tiles if len(tile) > _REDUCTION_PARTS]
    if trait.kind == "block_at_least":
        return prod(tile[-1] for tile in spatial) >= trait.value if spatial else None
    role, _, place = trait.loop.rpartition("-")
    loops = spatial if role == "spatial" else [t for t in tiles if len(t) <= _REDUCTION_PARTS]
    if len(loops) < int(place):
        return None
    tile = loops[-int(place)]
    if prod(tile) < trait.value:
        # The loop is too short for the trait.
        return None
    if trait.kind == "inner_multiple":
        return bool(tile[-1] % trait.value == 0)
    return bool(tile[-1 if trait.kind == "inner_at_least" else 0] >= trait.value)


def _unrolls(least: int, sketch: Sequence[Any], decisions: Sequence[Any]) -> bool | None:
    unrolled = {
        each[1][1] for each in sketch if each[0] == "Annotate" and "unroll" in str(each[2][0])
    }
    for index, value in decisions:
        kind, _, attributes, outputs = sketch[index]
        if kind == _CATEGORY and outputs[0] in unrolled:
            return bool(attributes[0][value] >= least)
    return None
