"""Schedules of a convolution in the format of the compiler, for tests of what they share."""

import random
from typing import Any

#: Tiles of a spatial loop of 64 and of a reduction of 16, and the unrolling.
SKETCH: list[Any] = [
    ["GetSBlock", [], ["conv2d_nhwc", "main"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
    ["SamplePerfectTile", ["l2"], [4, 64], ["v1", "v2", "v3", "v4"]],
    ["SamplePerfectTile", ["l3"], [2, 64], ["v6", "v7"]],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25] * 4], ["v5"]],
    ["Annotate", ["b0", "v5"], ["meta_schedule.unroll_explicit"], []],
]


def decisions(
    *, tile: list[int] | None = None, unroll: int = 3, reduction: list[int] | None = None
) -> list[Any]:
    return [[2, tile or [1, 2, 2, 16]], [4, unroll], [3, reduction or [4, 4]]]


def drawn(rng: random.Random) -> list[Any]:
    """Random decisions."""
    tile = [1, 1, 1, 1]
    for _ in range(6):
        tile[rng.randrange(4)] *= 2
    inner = rng.choice([1, 2, 4, 8, 16])
    return decisions(tile=tile, unroll=rng.randrange(4), reduction=[16 // inner, inner])
