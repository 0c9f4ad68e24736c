"""Which rows of a samples file evaluate builds, and which calibrate them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.samples import (
    FEWEST_ROWS,
    HELD_OUT_ROWS,
    MOST_ROWS,
    MOST_RUNS,
    RowNumbers,
    evaluation_samples,
    held_out_samples,
    split_rows,
)
from workers.engine.testset import make_test_set
from workers.engine.types import Network, TensorSpec

from .cast import NETWORK

files = st.tuples(st.integers(0, 3000), st.integers(1, 300))


def stored(folder: Path, rows: int, spec: TensorSpec, shape: tuple[int, ...]) -> Network:
    """With samples of ``shape`` that tell their row, as their labels do."""
    numbers = np.arange(rows)
    values = np.broadcast_to(numbers.reshape(-1, *(1 for _ in shape)), (rows, *shape))
    path = folder / "samples.npz"
    arrays = {f"inputs/{spec.name}": values.astype(np.float32), "labels": numbers}
    np.savez(path, allow_pickle=False, **arrays)
    return replace(NETWORK, inputs=(spec,), samples_path=path)


def widest_gap(numbers: RowNumbers, available: int) -> int:
    """Most rows from one of the numbers, or an end of the file, to the next."""
    return int(np.diff(np.sort([-1, *numbers, available])).max())


def in_order(available: int) -> list[int]:
    """Rows of a file from the first to be evaluated to the first to be calibrated."""
    split = split_rows(available, 1)
    held_out = split.calibration[::-1] if split.is_disjoint else split.calibration[:0]
    return [*split.evaluation.tolist(), *held_out.tolist()]


@given(files)
def test_no_row_is_in_both_sets_and_all_runs_are_in_one(file: tuple[int, int]) -> None:
    available, per_run = file
    split = split_rows(available, per_run)
    used = available // per_run * per_run or available
    assert split.is_disjoint == (available >= max(FEWEST_ROWS, 2 * per_run))
    if split.is_disjoint:
        assert sorted([*split.evaluation, *split.calibration]) == list(range(used))
        most = max(per_run, min(HELD_OUT_ROWS, available // 4))
        assert 0 < len(split.calibration) <= most
        assert len(split.calibration) > most - per_run
    else:
        assert sorted(split.evaluation) == sorted(split.calibration) == list(range(used))


@given(files)
def test_rows_of_a_run_stay_together_and_the_file_begins_the_evaluation(
    file: tuple[int, int],
) -> None:
    available, per_run = file
    split = split_rows(available, per_run)
    if available < per_run:
        return
    for rows in (split.evaluation, split.calibration):
        runs = rows.reshape(-1, per_run)
        assert (runs == runs[:, :1] + np.arange(per_run)).all()
        assert (runs[:, 0] % per_run == 0).all()
    assert split.evaluation[:per_run].tolist() == list(range(per_run))


@given(st.integers(FEWEST_ROWS, 20_000), st.integers(1, MOST_ROWS))
def test_both_sets_and_their_beginnings_are_spread_over_the_file(available: int, some: int) -> None:
    split = split_rows(available, 1)
    for rows in (split.evaluation, split.calibration):
        first = rows[: min(some, len(rows))]
        assert widest_gap(first, available) <= 2.7 * available / len(first) + 1


@pytest.mark.parametrize("classes", [2, 4, 10, 100])
@pytest.mark.parametrize("file_order", ["sorted", "cyclic"])
def test_every_class_is_calibrated_in_proportion(classes: int, file_order: str) -> None:
    rows = np.arange(1000)
    labels = rows * classes // 1000 if file_order == "sorted" else rows % classes
    split = split_rows(1000, 1)
    share = HELD_OUT_ROWS / classes
    for used in (split.calibration, split.evaluation[:HELD_OUT_ROWS]):
        counts = np.bincount(labels[used], minlength=classes)
        assert (np.abs(counts - share) <= max(2, 0.3 * share)).all()


@given(st.integers(1, 2000), st.integers(0, 500))
def test_rows_keep_their_order_in_a_longer_file(available: int, more: int) -> None:
    assert in_order(available) == [row for row in in_order(available + more) if row < available]


def test_the_split_is_the_same_everywhere() -> None:
    split = split_rows(24, 1)
    assert split.calibration.tolist() == [21, 8, 16, 3, 11, 19]
    assert split.evaluation[:6].tolist() == [0, 13, 5, 18, 10, 23]
    assert split_rows(64, 8).calibration.tolist() == [*range(24, 32), *range(48, 56)]


def test_endless_files_take_bounded_time() -> None:
    split = split_rows(2**40 + 5, 1)
    assert len(split.evaluation) + len(split.calibration) <= MOST_RUNS
    assert widest_gap(split.calibration, 2**40 + 5) <= 3 * 2**40 / HELD_OUT_ROWS


@pytest.mark.parametrize("requested", [16, 40, MOST_ROWS])
def test_builds_are_evaluated_on_none_of_the_rows_that_calibrate_them(
    requested: int, tmp_path: Path
) -> None:
    network = stored(tmp_path, 60, TensorSpec("x", "float32", ("N", 3)), (3,))
    evaluated = evaluation_samples(network, requested)
    held_out, is_disjoint = held_out_samples(network)
    assert is_disjoint
    assert len(evaluated["labels"]) == min(requested, 45)
    assert not set(evaluated["labels"]) & set(held_out["labels"])
    for rows in (evaluated, held_out):
        assert rows["inputs/x"].shape == (len(rows["labels"]), 3)
        assert (rows["inputs/x"] == rows["labels"][:, None]).all()


def test_batches_of_fixed_size_are_evaluated_and_calibrated_whole(tmp_path: Path) -> None:
    network = stored(tmp_path, 101, TensorSpec("x", "float32", (8, 3)), (3,))
    tests = make_test_set(network, evaluation_samples(network, 20), seed=0)
    assert [case["x"][0, 0] % 8 for case in tests.cases] == [0, 0]
    assert tests.labels is not None
    assert tests.labels.tolist() == [int(row) for case in tests.cases for row in case["x"][:, 0]]
    assert tests.timing["x"][:, 0].tolist() == list(range(8))
    held_out, _ = held_out_samples(network)
    assert len(held_out["labels"]) == 24
    assert not set(held_out["labels"]) & set(evaluation_samples(network, MOST_ROWS)["labels"])


def test_a_batch_above_the_affordable_rows_is_evaluated_whole(tmp_path: Path) -> None:
    network = stored(tmp_path, 101, TensorSpec("x", "float32", (32, 3)), (3,))
    assert len(evaluation_samples(network, FEWEST_ROWS)["labels"]) == 32


def test_rows_that_are_whole_inputs_run_one_by_one(tmp_path: Path) -> None:
    network = stored(tmp_path, 20, TensorSpec("x", "float32", (8, 3)), (8, 3))
    held_out, is_disjoint = held_out_samples(network)
    assert (len(held_out["labels"]), is_disjoint) == (5, True)


def test_of_few_rows_none_can_be_spared(tmp_path: Path) -> None:
    network = stored(tmp_path, FEWEST_ROWS - 1, TensorSpec("x", "float32", ("N",)), ())
    held_out, is_disjoint = held_out_samples(network)
    evaluated = evaluation_samples(network, MOST_ROWS)
    assert not is_disjoint
    assert len(held_out["labels"]) == len(evaluated["labels"]) == FEWEST_ROWS - 1


def test_a_network_without_samples_has_no_rows() -> None:
    assert evaluation_samples(NETWORK, MOST_ROWS) == {}
    assert held_out_samples(NETWORK) == ({}, False)


def test_labels_that_cannot_be_matched_to_inputs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    arrays = {"inputs/x": np.ones((1000, 8), np.float32), "labels": np.arange(900)}
    np.savez(path, allow_pickle=False, **arrays)
    network = replace(NETWORK, samples_path=path)
    for read in (lambda: evaluation_samples(network, 16), lambda: held_out_samples(network)):
        with pytest.raises(ValueError, match=r"have \[900, 1000\] rows"):
            read()
