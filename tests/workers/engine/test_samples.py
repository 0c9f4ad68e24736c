"""Test tensors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workers.engine.ports import Array
from workers.engine.random_inputs import random_inputs
from workers.engine.samples import FEWEST_ROWS, MOST_ROWS, evaluation_samples, sample_rows
from workers.engine.testset import CHUNK_ROWS, EXTRA_MACS, RANDOM_CASES, make_test_set
from workers.engine.types import Network, TensorSpec

from .cast import NETWORK


def taking(*inputs: TensorSpec, **changes: object) -> Network:
    return replace(NETWORK, inputs=inputs, **changes)


def images(rows: int) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {
        "inputs/x": rng.standard_normal((rows, 8)).astype(np.float32),
        "labels": np.arange(rows) % 10,
    }


# Random tensors


def test_random_tensors_repeat_under_their_seed() -> None:
    first, second = random_inputs(NETWORK, 3), random_inputs(NETWORK, 3)
    assert np.array_equal(first["x"], second["x"])
    assert not np.array_equal(first["x"], random_inputs(NETWORK, 4)["x"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_random_floats_are_standard_normal_and_never_zero(dtype: str) -> None:
    values = random_inputs(taking(TensorSpec("x", dtype, (200, 200))), 0)["x"]
    assert values.dtype == dtype
    assert np.all(values != 0)
    assert abs(float(values.astype(np.float64).mean())) < 0.03
    assert float(values.astype(np.float64).std()) == pytest.approx(1, abs=0.03)


def test_token_ids_stay_within_their_table() -> None:
    ids = TensorSpec("input_ids", "int64", (1, 500))
    assert random_inputs(taking(ids), 0)["input_ids"].max() == 99
    bounded = taking(ids, integer_bounds={"input_ids": 7})
    values = random_inputs(bounded, 0)["input_ids"]
    assert (values.min(), values.max()) == (0, 6)


def test_masks_are_all_ones_and_segments_are_two() -> None:
    made = random_inputs(
        taking(
            TensorSpec("attention_mask", "int64", (1, 64)),
            TensorSpec("pad_mask", "bool", (1, 64)),
            TensorSpec("token_type_ids", "int64", (1, 64)),
            TensorSpec("flags", "bool", (1, 64)),
            TensorSpec("pixels", "uint8", (1, 64)),
        ),
        0,
    )
    assert np.all(made["attention_mask"] == 1)
    assert np.all(made["pad_mask"])
    assert set(np.unique(made["token_type_ids"])) == {0, 1}
    assert set(np.unique(made["flags"])) == {False, True}
    assert made["pixels"].dtype == np.uint8


def test_named_dimensions_get_stated_sizes_else_one_sample_of_moderate_size() -> None:
    network = taking(
        TensorSpec("ids", "int64", ("batch", "sequence")),
        TensorSpec("positions", "int64", ("sequence",)),
    )
    shapes = {name: array.shape for name, array in random_inputs(network, 0).items()}
    assert shapes == {"ids": (1, 32), "positions": (32,)}
    stated = replace(network, dimensions={"sequence": 5, "batch": 2})
    assert random_inputs(stated, 0)["ids"].shape == (2, 5)


def decoder_inputs(mask: str) -> tuple[TensorSpec, ...]:
    """Inputs of a decoder with a cache whose mask has a length of this name."""
    return (
        TensorSpec("input_ids", "int64", ("batch", "sequence")),
        TensorSpec("attention_mask", "int64", ("batch", mask)),
        TensorSpec("position_ids", "int64", ("batch", "sequence")),
        TensorSpec("past_key_values.0.key", "float32", ("batch", 2, "past", 4)),
    )


@pytest.mark.parametrize("mask", ["total_sequence_length", "past + sequence", "total"])
def test_a_decoder_is_checked_on_prompts_and_timed_on_one_token_after_a_cache(mask: str) -> None:
    tests = make_test_set(taking(*decoder_inputs(mask)), {}, seed=0)
    shapes = [
        (
            inputs["input_ids"].shape,
            inputs["attention_mask"].shape,
            inputs["past_key_values.0.key"].shape[2],
        )
        for inputs in (tests.timing, *tests.extras)
    ]
    assert shapes == [
        ((1, 1), (1, 129), 128),
        ((1, 32), (1, 32), 0),
        ((2, 1), (2, 129), 128),
        ((1, 3), (1, 130), 127),
    ]
    assert tests.extras[0]["position_ids"].tolist() == [[*range(32)]]


@pytest.mark.parametrize("dtype", ["string", "bfloat16", "complex64"])
def test_a_type_without_random_tensors_is_named(dtype: str) -> None:
    with pytest.raises(ValueError, match=f"x: no random tensors of type {dtype}"):
        random_inputs(taking(TensorSpec("x", dtype, (1,))), 0)


def test_without_samples_the_test_set_is_random() -> None:
    tests = make_test_set(NETWORK, {}, seed=5)
    assert (tests.source, tests.seed, len(tests.cases), tests.labels) == (
        "random",
        5,
        RANDOM_CASES,
        None,
    )
    assert tests.timing["x"].shape == (1, 8)


# Other sizes, planted values


def test_open_dimensions_are_also_tried_at_two_samples_and_at_odd_sizes() -> None:
    ids = TensorSpec("ids", "int64", ("batch", "sequence"))
    tests = make_test_set(taking(ids), {}, seed=0)
    assert [extra["ids"].shape for extra in tests.extras] == [(2, 32), (1, 31)]
    stated = replace(taking(ids), dimensions={"batch": 2, "sequence": 1})
    shapes = [extra["ids"].shape for extra in make_test_set(stated, {}, 0).extras]
    assert shapes == [(3, 1), (2, 3)]


def test_a_fixed_network_has_no_other_size() -> None:
    assert make_test_set(taking(TensorSpec("x", "float32", (4, 8))), {}, seed=0).extras == ()


def test_beside_samples_random_inputs_are_tried_too() -> None:
    tests = make_test_set(NETWORK, images(4), seed=0)
    assert [extra["x"].shape for extra in tests.extras] == [(1, 8), (2, 8)]
    assert not np.array_equal(tests.extras[0]["x"], tests.timing["x"])


def test_nan_and_both_infinities_are_planted_in_float_inputs_alone() -> None:
    floats = [TensorSpec(name, "float32", (8,)) for name in ("a", "b", "c")]
    tests = make_test_set(taking(TensorSpec("ids", "int64", (8,)), *floats), {}, seed=0)
    assert [what for what, _ in tests.planted] == [
        "NaN in a", "infinity in a", "NaN in b", "infinity in b"
    ]  # fmt: skip
    values = tests.planted[1][1]["a"]
    assert (np.isposinf(values).sum(), np.isneginf(values).sum()) == (1, 1)
    assert np.isfinite(tests.timing["a"]).all()
    assert len(tests.runs) == len(tests.cases) + len(tests.extras) + 4


def test_where_onnx_leaves_open_what_becomes_of_nan_infinity_alone_is_planted() -> None:
    pooling = taking(TensorSpec("x", "float32", (8,)), operators={"Conv": 3, "MaxPool": 1})
    planted = make_test_set(pooling, {}, seed=0).planted
    assert [what for what, _ in planted] == ["infinity in x"]


@pytest.mark.parametrize("shape", [(), (1,), (0, 3)])
def test_planting_fits_into_the_smallest_tensors(shape: tuple[int, ...]) -> None:
    planted = make_test_set(taking(TensorSpec("x", "float32", shape)), {}, seed=0).planted
    assert len(planted) == (0 if 0 in shape else 2)


def test_a_costly_network_is_checked_on_its_own_tensors_alone() -> None:
    tests = make_test_set(replace(NETWORK, macs=EXTRA_MACS + 1), {}, seed=0)
    assert tests.runs == tests.cases


def test_samples_nobody_can_make_up_have_no_random_companions() -> None:
    waves = taking(TensorSpec("x", "complex64", ("N",)))
    assert make_test_set(waves, {"inputs/x": np.ones(2, np.complex64)}, seed=0).extras == ()
    words = taking(TensorSpec("x", "string", ("N",)))
    tests = make_test_set(words, {"inputs/x": np.array(["a", "b"])}, seed=0)
    assert (tests.timing["x"].tolist(), tests.extras) == (["a"], ())
    with pytest.raises(ValueError, match="x: no samples of type string"):
        make_test_set(words, {"inputs/x": np.ones(2)}, seed=0)


# The revision's own samples


def test_samples_of_an_open_batch_run_in_chunks_and_are_timed_singly() -> None:
    rows = 2 * CHUNK_ROWS + 5
    tests = make_test_set(NETWORK, images(rows), seed=0)
    assert [case["x"].shape[0] for case in tests.cases] == [CHUNK_ROWS, CHUNK_ROWS]
    assert tests.labels is not None
    assert tests.labels.shape == (2 * CHUNK_ROWS,)
    assert tests.timing["x"].shape == (1, 8)
    assert np.array_equal(tests.timing["x"][0], tests.cases[0]["x"][0])


def test_samples_of_a_fixed_batch_run_as_that_batch() -> None:
    tests = make_test_set(taking(TensorSpec("x", "float32", (4, 8))), images(10), seed=0)
    assert [case["x"].shape for case in tests.cases] == [(4, 8), (4, 8)]
    assert tests.timing["x"].shape == (4, 8)


def test_samples_with_an_additional_dimension_are_whole_inputs() -> None:
    tests = make_test_set(taking(TensorSpec("x", "float32", (8,))), images(3), seed=0)
    assert [case["x"].shape for case in tests.cases] == [(8,)] * 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"inputs/x": np.zeros((4, 9), np.float32)}, r"shape \(4, 9\)"),
        ({"inputs/x": np.zeros((4, 8))}, "float64"),
        ({"inputs/x": np.zeros((0, 8), np.float32)}, "equal numbers of rows"),
        ({"inputs/x": np.zeros((), np.float32)}, r"shape \(\)"),
        ({"labels": np.zeros(3, np.int64)}, r"labels must be int64\[4\]"),
        ({"labels": np.zeros(4)}, "labels must be"),
    ],
)
def test_samples_that_do_not_fit_the_graph_are_refused_with_the_reason(
    change: dict[str, Array], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        make_test_set(NETWORK, {**images(4), **change}, seed=0)


def test_a_missing_input_and_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="lack inputs/x"):
        make_test_set(NETWORK, {"labels": np.zeros(4, np.int64)}, seed=0)
    with pytest.raises(ValueError, match="2 rows; one batch of this graph takes 4"):
        make_test_set(taking(TensorSpec("x", "float32", (4, 8))), images(2), seed=0)
    clash = taking(TensorSpec("x", "float32", (4, 8)), TensorSpec("z", "float32", (2, 8)))
    with pytest.raises(ValueError, match="different numbers of rows"):
        make_test_set(clash, {**images(4), "inputs/z": images(4)["inputs/x"]}, seed=0)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"not a zip", "npy", "pickle"])
def test_a_file_that_is_no_npz_is_refused(content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    match content:
        case "npy":
            with path.open("wb") as file:
                np.save(file, np.zeros(3))
        case "pickle":
            np.savez(path, x=np.array([{"an": "object"}], dtype=object))
        case bytes():
            path.write_bytes(content)
    with pytest.raises(ValueError, match=r"samples\.npz is not a readable \.npz"):
        evaluation_samples(replace(NETWORK, samples_path=path), 4)


@pytest.mark.parametrize(
    ("macs", "rows"),
    [(None, FEWEST_ROWS), (1, MOST_ROWS), (10**12, FEWEST_ROWS), (4 * 10**9, 50)],
)
def test_costly_networks_are_checked_on_fewer_rows(macs: int | None, rows: int) -> None:
    assert sample_rows(replace(NETWORK, macs=macs)) == rows
