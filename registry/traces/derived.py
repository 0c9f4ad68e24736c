"""Values that follow from several decisions together: tiles of several loops, whole vectors.

The loops of the tiled block are in the order of its ``Reorder`` instruction. Which loops become
parallel is not derived: TVM decides it when it applies the schedule, from the strides and places of
all blocks, which the trace of a trial does not contain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.traces.sketch import Sketch

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorRegisters:
    """What derived values need of a machine: the number of 32-bit elements of a vector register; 0
    if it is not stored."""

    lanes: int = 0


@dataclass(frozen=True, slots=True)
class DerivedValues:
    """A derived number of each trial; ``text_of`` puts one into words."""

    key: str
    title: str
    numbers: Integers
    text_of: Callable[[int], str] = str


def derived(
    sketch: Sketch, values: dict[int, Integers], machine: VectorRegisters
) -> Iterator[DerivedValues]:
    """Derived values of the trials of a sketch; none if its loop nest is not fully stored.

    Args:
        values: Decisions by the position of their instruction: factors, shape ``(trials, parts)``,
            or numbers, shape ``(trials,)``.
    """
    if not sketch.is_spatial or any(loop.tile not in values for loop in sketch.order):
        return
    lengths = np.stack(
        [values[loop.tile or 0][:, loop.level or 0] for loop in sketch.order], axis=1
    )
    spatial = np.array(sketch.is_spatial)
    inner = np.array([loop.level == loop.parts - 1 for loop in sketch.order])
    outer = np.array([loop.level == 0 for loop in sketch.order])
    yield DerivedValues(
        "outer-tiles",
        "number of outer tiles",
        lengths[:, spatial & outer].prod(axis=1),
    )
    yield DerivedValues(
        "register-tile",
        "elements of the inner spatial tile",
        lengths[:, spatial & inner].prod(axis=1),
    )
    if (~spatial).any():
        yield DerivedValues(
            "inner-reduction",
            "length of the inner reductions",
            lengths[:, ~spatial & inner].prod(axis=1),
        )
    if machine.lanes and spatial[-1] and "vectorize" in sketch.annotations:
        yield DerivedValues(
            "simd-multiple",
            f"innermost loop a multiple of {machine.lanes} lanes",
            (lengths[:, -1] % machine.lanes == 0).astype(np.int64),
            ("no", "yes").__getitem__,
        )
