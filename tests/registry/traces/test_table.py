"""Trials in columns, compared with plain counts of the recorded traces."""

from itertools import pairwise
from math import log2, prod

import numpy as np
import pytest

from registry.statistics.association import associations, fastest
from registry.traces import DecisionColumnKind, Sketch, VectorRegisters, WorkloadNames, table_of
from registry.traces.table import DecisionTable
from tests.registry.traces.recorded import NAMES, Recorded, recorded

RANDOM = recorded("conv-random")


def table(search: Recorded, *, constant: bool = False) -> DecisionTable:
    return table_of(search.read(), search.rows, VectorRegisters(lanes=16), constant=constant)


@pytest.mark.parametrize("name", NAMES)
def test_each_code_is_the_value_of_its_trial(name: str) -> None:
    search = recorded(name)
    sketches = search.read()
    columns = {column.key: column for column in table(search, constant=True).columns}
    for row, trial in enumerate(search.trials):
        for decision in sketches[trial["sketch"]].decisions(trial["decisions"]):
            column = columns[decision.key]
            value = column.values[column.codes[row]]
            assert value.text == decision.text
            assert column.instructions[trial["sketch"]] == decision.instruction
            if column.kind == DecisionColumnKind.TILE:
                assert value.numbers == tuple(map(log2, decision.value))


def test_inner_outer_and_derived_values_follow_from_the_tiles() -> None:
    columns = {column.key: column for column in table(RANDOM).columns}
    by_title = {column.title: column for column in columns.values()}
    inner, outer = by_title["inner width of ff"], by_title["outer parts of ff"]
    register = columns["derived:register-tile"]
    lanes = columns["derived:simd-multiple"]
    sketches = RANDOM.read()
    for row, trial in enumerate(RANDOM.trials):
        tiles = {
            each.title.removeprefix("tile of "): each.value
            for each in sketches[trial["sketch"]].decisions(trial["decisions"])
            if each.title.startswith("tile of")
        }
        assert inner.labels[inner.codes[row]] == str(tiles["ff"][-1])
        assert outer.labels[outer.codes[row]] == str(tiles["ff"][0])
        spatial = [tiles[axis][-1] for axis in ("nn", "yy", "xx", "ff")]
        assert register.labels[register.codes[row]] == str(prod(spatial))
        expected = "yes" if tiles["ff"][-1] % 16 == 0 else "no"
        assert lanes.labels[lanes.codes[row]] == expected


def test_values_are_in_their_order() -> None:
    for column in table(RANDOM).columns:
        assert all(one.order <= other.order for one, other in pairwise(column.values))


def test_constant_columns_are_left_out_unless_wanted() -> None:
    shown, every = table(RANDOM).columns, table(RANDOM, constant=True).columns
    assert all(len(column.values) > 1 for column in shown)
    assert "tile of nn" in {column.title for column in every} - {c.title for c in shown}


def test_a_trial_that_cannot_be_read_has_no_values() -> None:
    rows = [*RANDOM.rows[:5], (RANDOM.rows[0][0], [[0, "damaged"]])]
    result = table_of(RANDOM.read(), rows, constant=True)
    assert result.unreadable.tolist() == [False] * 5 + [True]
    assert all(column.codes[5] == -1 for column in result.columns)
    assert all((column.codes[:5] >= 0).all() for column in result.columns)


def test_sketches_are_columns_and_what_one_lacks_is_said() -> None:
    search = recorded("conv-search")
    places = [c for c in table(search).columns if c.kind == DecisionColumnKind.SKETCH]
    assert places
    assert "not in the sketch" in {label for column in places for label in column.labels}


def test_features_are_numbers_for_every_trial() -> None:
    for name in NAMES:
        features = table(recorded(name)).features()
        assert features.shape[0] == len(recorded(name).trials)
        assert features.shape[1] >= 4
        assert np.isfinite(features).all()


def test_one_trial_and_none_make_a_table() -> None:
    assert table_of({}, []).columns == ()
    one = table_of(RANDOM.read(), RANDOM.rows[:1])
    assert one.columns == ()
    assert one.features().shape == (1, 0)


def test_random_schedules_show_what_fast_ones_have_in_common() -> None:
    """With 500 random schedules, whole vectors of the innermost loop are evident."""
    measured = [
        trial for trial in RANDOM.trials if trial["seconds"] and trial["outcome"] != "timeout"
    ]
    rows = [(trial["sketch"], trial["decisions"]) for trial in measured]
    columns = table_of(RANDOM.read(), rows, VectorRegisters(lanes=16)).columns
    times = np.array([float(np.median(trial["seconds"])) for trial in measured])
    found = associations([column.codes for column in columns], times, fastest(times))
    evident = {
        (columns[each.column].title, columns[each.column].labels[each.code])
        for each in found
        if each.is_evident and each.log2_odds > 0
    }
    assert ("innermost loop a multiple of 16 lanes", "yes") in evident


def test_names_with_another_number_of_loops_are_not_used() -> None:
    wrong = WorkloadNames([{"name": "conv2d_nhwc", "axes": [{"name": "x", "kind": "spatial"}]}])
    sketch = Sketch(RANDOM.sketches[0], wrong)
    assert any(point.title == "tile of loop 3" for point in sketch.points)
