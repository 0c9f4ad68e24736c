"""Traits of schedules."""

from typing import Any

import pytest

from hpcfair.traits import TRAITS, Trait, holds

SKETCH: list[Any] = [
    ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
    ["SamplePerfectTile", ["l1"], [4, 64], ["v1"]],
    ["SamplePerfectTile", ["l2"], [4, 64], ["v2"]],
    ["SamplePerfectTile", ["l3"], [2, 64], ["v3"]],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25] * 4], ["v5"]],
    ["Annotate", ["b0", "v5"], ["meta_schedule.unroll_explicit"], []],
    ["SampleCategorical", [], [[0, 1], [0.5] * 2], ["v9"]],
]
DECISIONS = [[1, [7, 1, 1, 4]], [2, [2, 1, 2, 16]], [3, [3, 1]], [4, 2], [6, 1]]


@pytest.mark.parametrize(
    ("trait", "expected"),
    [
        (Trait("inner_multiple", "spatial-1", 16), True),
        (Trait("inner_at_least", "spatial-2", 4), True),
        (Trait("inner_at_least", "spatial-3", 2), None),
        (Trait("outer_at_least", "spatial-1", 2), True),
        (Trait("outer_at_least", "reduction-1", 2), True),
        (Trait("inner_at_least", "reduction-1", 4), None),
        (Trait("block_at_least", "", 64), True),
        (Trait("unroll", "", 64), True),
        (Trait("unroll", "", 512), False),
    ],
)
def test_what_a_schedule_has(trait: Trait, expected: object) -> None:
    assert holds(trait, SKETCH, DECISIONS) is expected


def test_a_short_loop_cannot_lack_a_long_one() -> None:
    short = [[1, [1, 1, 1, 2]], [2, [1, 1, 1, 8]], [3, [3, 1]], [4, 0], [6, 1]]
    assert holds(Trait("inner_multiple", "spatial-1", 16), SKETCH, short) is None
    assert holds(Trait("inner_multiple", "spatial-1", 8), SKETCH, short) is True


@pytest.mark.parametrize("decisions", [[], [[99, 1]], [[1, "x"]], [["x"]], [[4, 99]], 7, None])
def test_what_is_no_schedule_has_no_traits(decisions: Any) -> None:
    assert {holds(trait, sketch, decisions) for trait in TRAITS for sketch in (SKETCH, [])} == {
        None
    }


def test_traits_survive_json_and_are_stated_in_words() -> None:
    for trait in TRAITS:
        assert Trait.from_json(trait.to_json()) == trait
        assert str(trait.value) in trait.words("conv2d_nhwc")
    words = Trait("inner_multiple", "spatial-1", 16).words("conv2d_nhwc")
    assert words == "the innermost loop over the output channels runs a multiple of 16 times"


@pytest.mark.parametrize(
    "document",
    [{}, {"kind": "unroll", "loop": "", "value": "x"}, {"kind": "fly", "loop": "", "value": 1}],
)
def test_what_is_no_trait_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match="trait"):
        Trait.from_json(document)
