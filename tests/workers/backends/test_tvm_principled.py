"""Schedules that follow principles."""

from itertools import islice
from math import prod
from random import Random
from typing import Any

from hpcfair.traits import Trait, holds
from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.principled import principled, wishes_by_anchor

SKETCH: list[Any] = [
    ["GetLoops", ["b0"], [], ["l1"]],
    ["SamplePerfectTile", ["l1"], [4, 64], ["v1"]],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25] * 4], ["v5"]],
    ["Annotate", ["b0", "v5"], ["meta_schedule.unroll_explicit"], []],
]
OTHER: list[Any] = [["GetSBlock", [], ["x", "main"], ["b0"]], *SKETCH[2:]]
DESIGNS: list[Any] = [(SKETCH, [[1, [64, 1, 1, 1]], [2, 0]]), (OTHER, [[1, 0]])]
WIDE, UNROLL = Trait("inner_multiple", "spatial-1", 16), Trait("unroll", "", 64)


def _rng(seed: int) -> Random:
    return Random(seed)  # noqa: S311


def test_the_first_schedules_follow_all_principles() -> None:
    first = list(islice(principled(DESIGNS, [(WIDE, True), (UNROLL, False)], _rng(0)), 5))
    assert len(first) == 5
    for sketch, decisions in first:
        assert holds(WIDE, sketch, decisions) is True
        assert holds(UNROLL, sketch, decisions) is False


def test_all_are_schedules_of_the_space_and_none_comes_twice() -> None:
    drawn = list(principled(DESIGNS, [(WIDE, True)], _rng(1)))
    assert len({str(design) for design in drawn}) == len(drawn) > 20
    for sketch, decisions in drawn:
        assert all(prod(v) == 64 for _, v in decisions if isinstance(v, list))
        assert sketch in (SKETCH, OTHER)
    followed = [holds(WIDE, *design) is True for design in drawn]
    assert followed == sorted(followed, reverse=True)


def test_without_designs_there_is_nothing_to_draw() -> None:
    assert list(principled([], [(WIDE, True)], _rng(0))) == []


def test_principles_of_a_newer_hub_are_left_out() -> None:
    wishes = wishes_by_anchor([
        {"anchor": "conv2d_nhwc", "trait": WIDE.to_json(), "is_wanted": True},
        {"anchor": "conv2d_nhwc", "trait": {"kind": "new", "loop": "", "value": 1},
         "is_wanted": True},
        {"anchor": "matmul", "trait": UNROLL.to_json(), "is_wanted": False},
    ])  # fmt: skip
    assert wishes == {"conv2d_nhwc": [(WIDE, True)], "matmul": [(UNROLL, False)]}


def test_a_search_draws_such_schedules_by_random_far_less_often() -> None:
    rng = _rng(2)
    sketch, decisions = DESIGNS[0]
    drawn = [moves.sample(sketch, decisions, rng) for _ in range(500)]
    share = sum(holds(WIDE, sketch, each) is True for each in drawn) / 500
    assert share < 0.2
