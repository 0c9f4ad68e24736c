"""Evolution of schedules on their decisions: pure JSON, no TVM."""

from collections.abc import Sequence
from math import log2, prod
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from workers.backends.tvm.tuning.evolution import Design, draft, spread
from workers.backends.tvm.tuning.moves import mutate, numbers, sample

SKETCH: list[Any] = [
    ["SamplePerfectTile", ["l0"], [4, 64], ["v0", "v1", "v2", "v3"]],
    ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],
    ["SampleCategorical", [], [[0, 16, 64], [0.3, 0.3, 0.4]], ["v6"]],
    ["SampleComputeLocation", ["b0"], [], ["l2"]],
]
START: list[Any] = [[0, [3360, 1, 1, 1]], [1, [96, 1]], [2, 0], [3, -1]]


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311  no secret


def fit(decisions: Any) -> bool:
    (_, outer), (_, inner), (_, choice), (_, location) = decisions
    lengths = prod(outer) == 3360 and prod(inner) == 96
    return lengths and outer[-1] <= 64 and inner[-1] <= 16 and choice in range(3) and location >= -2


def wish(designs: Sequence[Design]) -> npt.NDArray[np.float64]:
    """Best where the innermost tiles are 16 long."""
    far = [abs(log2(d[0][1][-1]) - 4) + abs(log2(d[1][1][-1]) - 4) for _, d in designs]
    return -np.asarray(far)


def test_what_is_drawn_or_moved_fits_the_loops() -> None:
    chance = seeded(0)
    now = START
    for _ in range(200):
        assert fit(sample(SKETCH, START, chance))
        now = mutate(SKETCH, now, chance)
        assert fit(now)


def test_numbers_tell_schedules_apart_and_are_as_many() -> None:
    chance = seeded(0)
    found = [numbers(SKETCH, sample(SKETCH, START, chance)) for _ in range(50)]
    assert {len(row) for row in found} == {9}
    assert len({tuple(row) for row in found}) > 40


def test_evolution_finds_what_chance_would_not() -> None:
    found = draft([(SKETCH, START)], [], wish, seeded(1))
    assert wish(found[:1]) == 0
    assert all(fit(decisions) for _, decisions in found)
    by_chance = [(SKETCH, sample(SKETCH, START, seeded(seed))) for seed in range(8)]
    assert wish(found[:8]).min() > wish(by_chance).max()


def test_the_same_seed_drafts_the_same() -> None:
    first, again = (draft([(SKETCH, START)], [], wish, seeded(5)) for _ in range(2))
    assert first == again


def test_measured_parents_are_among_the_drafts_and_none_comes_twice() -> None:
    parent: Design = (SKETCH, [[0, [105, 1, 2, 16]], [1, [6, 16]], [2, 1], [3, 2]])
    found = draft([(SKETCH, START)], [parent], wish, seeded(2))
    assert parent in found
    assert len({str(decisions) for _, decisions in found}) == len(found)


def test_a_batch_holds_no_neighbours() -> None:
    taken = [d for _, d in spread(draft([(SKETCH, START)], [], wish, seeded(3)))]
    for at, one in enumerate(taken):
        for other in taken[:at]:
            assert sum(a != b for a, b in zip(one, other, strict=True)) > 1
