"""Decisions in words, of recorded trials and of malformed ones."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.traces import Sketch, TraceError, WorkloadNames
from tests.registry.analysis.recordedsearches import tile_of_ff
from tests.registry.traces.recorded import NAMES, recorded
from workers.backends.tvm.tuning import moves

CONV = recorded("conv-search")


def texts(sketch: Sketch, decisions: Any) -> dict[str, str]:
    return {each.title: each.text for each in sketch.decisions(decisions)}


def test_decisions_have_the_names_of_the_workload() -> None:
    trial = CONV.trials[-1]
    described = texts(CONV.read()[trial["sketch"]], trial["decisions"])
    assert described["tile of ff"] == str(tile_of_ff(trial)) == "[4, 1, 1, 16]"
    assert described["unroll limit"] in {"0", "16", "64", "512"}
    assert {"tile of xx", "tile of rc", "place of pad_temp"} <= described.keys()


def test_without_stored_names_loops_have_numbers() -> None:
    trial = CONV.trials[-1]
    described = texts(CONV.read(WorkloadNames())[trial["sketch"]], trial["decisions"])
    named = texts(CONV.read()[trial["sketch"]], trial["decisions"])
    assert described["tile of loop 3"] == named["tile of ff"]
    assert not any("under ff" in text for text in described.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_of_the_trace(name: str) -> None:
    search = recorded(name)
    sketches = search.read()
    for trial in search.trials:
        read = sketches[trial["sketch"]].decisions(trial["decisions"])
        assert [[each.instruction, each.value] for each in read] == trial["decisions"]
        assert len({each.key for each in read}) == len(read)
        assert sketches[trial["sketch"]].fits(trial["decisions"])


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_that_samples_is_a_point(name: str) -> None:
    for number, sketch in recorded(name).read().items():
        instructions = recorded(name).sketches[number]
        sampled = [at for at, each in enumerate(instructions) if each[0].startswith("Sample")]
        assert [point.instruction for point in sketch.points] == sampled


@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1))
def test_mutated_schedules_are_read_as_well(name: str, seed: int) -> None:
    search, rng = recorded(name), Random(seed)  # noqa: S311  not for secrets
    trial = rng.choice(search.trials)
    sketch = search.read()[trial["sketch"]]
    mutated = moves.mutate(sketch.instructions, trial["decisions"], rng)
    assert sketch.fits(mutated)
    before, after = (texts(sketch, each) for each in (trial["decisions"], mutated))
    assert sum(before[title] != after[title] for title in before) == (mutated != trial["decisions"])


def test_a_reduction_and_an_epilogue_are_recognised() -> None:
    sketches = CONV.read()
    fixed = {text for sketch in sketches.values() for _, text in sketch.fixed.values()}
    assert fixed & {"under ff_0", "under ff_1"}
    for sketch in sketches.values():
        kinds = dict(zip((loop.label for loop in sketch.order), sketch.is_spatial, strict=True))
        assert kinds["ff_3"]
        assert not kinds["rc_1"]
        # The tiling structure tells the same without the names.
        assert Sketch(sketch.instructions).is_spatial == sketch.is_spatial


@pytest.mark.parametrize(
    "instructions",
    [
        [["SamplePerfectTile", ["l0"], [4, 64], ["v1"]]],
        [["GetSBlock", [], [], ["b0"]]],
        [["Split", [], [], []]],
        [[]],
        [None],
        [["Annotate", ["b0"], [], []]],
        [["GetLoops", ["b7"], [], ["l1"]]],
    ],
)
def test_a_malformed_sketch_is_an_error(instructions: Any) -> None:
    with pytest.raises(TraceError, match="malformed"):
        Sketch(instructions)


@pytest.mark.parametrize("value", [[1, 2, 3], [0, 1, 1, 1], "4", None, [1, 1, 1, "1"], 2, True])
def test_a_value_that_is_no_tile_is_an_error(value: Any) -> None:
    trial = CONV.trials[0]
    sketch = CONV.read()[trial["sketch"]]
    wrong = [[trial["decisions"][0][0], value], *trial["decisions"][1:]]
    assert not sketch.fits(wrong)
    with pytest.raises(TraceError):
        sketch.decisions(wrong)


def test_a_decision_of_another_instruction_is_an_error() -> None:
    sketch = CONV.read()[0]
    for wrong in ([[0, 1]], [[]], [5], [[999, [1, 1]]]):
        assert not sketch.fits(wrong)
        with pytest.raises(TraceError):
            sketch.decisions(wrong)


def test_an_empty_sketch_decides_nothing() -> None:
    sketch = Sketch([])
    assert sketch.fits([])
    assert not sketch.order
