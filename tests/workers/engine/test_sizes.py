"""Tensors are bounded before memory is allocated for them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcfair.isolation import wire
from hpcfair.isolation.limits import Limits, shown
from hpcfair.measurement import outputs as measured_outputs
from hpcfair.measurement.outputs import OutputComparison
from tests.workers.engine.cast import NETWORK, TARGET
from workers.backends.fake.backend import FakeBackend
from workers.engine import numerics, sizes, testset
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.numerics import run_reference
from workers.engine.ports import Array
from workers.engine.random_inputs import open_sizes, random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.sizes import (
    MAX_RUN_BYTES,
    MAX_TEST_BYTES,
    TensorsTooLarge,
    require_outputs,
)
from workers.engine.testset import RANDOM_CASES, TestSet, make_test_set
from workers.engine.types import Network, TensorSpec

HUGE = TensorSpec("x", "float32", (1, 2**40))


def taking(*inputs: TensorSpec) -> Network:
    return replace(NETWORK, inputs=inputs)


def device_for(network: Network, folder: Path, limits: Limits) -> LocalDevice:
    (folder / "scratch").mkdir()
    backends = {"fake": FakeBackend()}
    request = TuningRequest(network, TARGET, ("fake",), limits=limits)
    return LocalDevice(request, backends, folder / "scratch")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (2**28, "256 MiB"),
        (3 * 2**29, "1.5 GiB"),
        (2**42, "4 TiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_unit(count: int, text: str) -> None:
    assert shown(count) == text


@pytest.mark.parametrize(
    "shape",
    [(1, 2**40), (2**62,) * 64, (2**27,), (MAX_RUN_BYTES // 4 + 1,), ("N", 2**40)],
)
def test_a_declared_input_over_the_bound_is_refused(shape: tuple[int | str, ...]) -> None:
    with pytest.raises(TensorsTooLarge) as caught:
        random_inputs(taking(TensorSpec("x", "float32", shape)), 0)
    for part in ("'x'", "float32[", "at most 256 MiB", "Export the network"):
        assert part in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_test_set_fits_into_a_message() -> None:
    assert MAX_TEST_BYTES <= wire.MAX_BYTES


def test_inputs_are_bounded_together() -> None:
    half = MAX_RUN_BYTES // 8
    several = [TensorSpec(name, "float32", (half + 1,)) for name in "ab"]
    with pytest.raises(TensorsTooLarge, match="the largest is 'a'"):
        make_test_set(taking(*several), {}, 0)


def test_many_named_dimensions_are_made_smaller() -> None:
    names = tuple(f"d{number}" for number in range(12))
    network = taking(TensorSpec("x", "float32", names))
    assert set(open_sizes(network).values()) == {1, 4}
    assert random_inputs(network, 0)["x"].nbytes <= MAX_RUN_BYTES
    assert set(open_sizes(taking(TensorSpec("x", "float32", names[:4]))).values()) == {1, 32}


def test_a_test_set_keeps_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    network = taking(TensorSpec("x", "float32", ("batch", 64, "width")))
    one = random_inputs(network, 0)["x"].nbytes
    monkeypatch.setattr(testset, "MAX_TEST_BYTES", (RANDOM_CASES + 2) * one)
    tests = make_test_set(network, {}, 0)
    assert len(tests.cases) == RANDOM_CASES
    # A batch of two is too large, an odd width is not; nothing is left to plant NaN in.
    assert sum(case["x"].nbytes for case in (tests.timing, *tests.runs)) <= 5 * one
    assert len(tests.runs) < len(make_test_set(taking(*network.inputs), {}, 0).runs) + 1


def test_rows_of_samples_beyond_the_bound_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {"inputs/x": np.ones((200, 8), np.float32), "labels": np.arange(200)}
    monkeypatch.setattr(testset, "MAX_TEST_BYTES", 2 * 64 * 32)
    tests = make_test_set(NETWORK, samples, 0)
    assert [len(case["x"]) for case in tests.cases] == [32, 32]
    assert tests.labels is not None
    assert tests.labels.tolist() == list(range(64))
    monkeypatch.setattr(testset, "MAX_RUN_BYTES", 5 * 32)
    assert {len(case["x"]) for case in make_test_set(NETWORK, samples, 0).cases} == {5}
    monkeypatch.setattr(testset, "MAX_RUN_BYTES", 31)
    with pytest.raises(TensorsTooLarge, match="smaller samples"):
        make_test_set(NETWORK, samples, 0)


def test_a_device_makes_test_sets_in_a_child(tmp_path: Path) -> None:
    with device_for(NETWORK, tmp_path, Limits(memory_bytes=2**30)) as device:
        tests = device.test_set(16, seed=3)
        assert device.isolation
    expected = make_test_set(NETWORK, {}, 3)
    assert (tests.source, tests.seed, tests.labels) == ("random", 3, None)
    assert len(tests.runs) == len(expected.runs)
    for ours, others in zip(tests.runs, expected.runs, strict=True):
        np.testing.assert_array_equal(ours["x"], others["x"])
    assert [about for about, _ in tests.planted] == [about for about, _ in expected.planted]


def test_what_a_child_refuses_to_make_is_the_networks_fault(tmp_path: Path) -> None:
    with (
        device_for(taking(HUGE), tmp_path, Limits(memory_bytes=2**30)) as device,
        pytest.raises(CandidateFailed) as caught,
    ):
        device.test_set(16, seed=0)
    assert caught.value.outcome == "invalid"
    assert str(caught.value).startswith("The inputs of one run take 4 TiB")


# Outputs


class Gives:
    """A session whose outputs have as many elements as its inputs say."""

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        return {"y": np.ones(int(inputs["x"].sum()), np.float32)}


def test_outputs_over_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MAX_RUN_BYTES", 16)
    require_outputs({"y": np.ones(4, np.float32)})
    with pytest.raises(TensorsTooLarge, match="outputs of one run take 20 bytes"):
        require_outputs({"y": np.ones(4, np.float32), "z": np.ones(1, np.float32)})


def test_the_outputs_of_a_reference_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = tuple({"x": np.full(1, count, np.float32)} for count in (3, 3))
    extras = tuple({"x": np.full(1, count, np.float32)} for count in (2, 9, 1))
    tests = TestSet(cases, None, cases[0], "random", 0, extras)
    monkeypatch.setattr(numerics, "MAX_TEST_BYTES", 40)
    outputs = run_reference(Gives(), tests)  # type: ignore[arg-type]
    assert [None if each is None else each["y"].size for each in outputs] == [3, 3, 2, None, None]
    monkeypatch.setattr(numerics, "MAX_TEST_BYTES", 20)
    with pytest.raises(TensorsTooLarge, match="outputs of 2 runs"):
        run_reference(Gives(), tests)  # type: ignore[arg-type]


def test_outputs_are_compared_in_blocks_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((7, 11)).astype(np.float16)
    output = reference + rng.standard_normal((7, 11)).astype(np.float16) / 64
    reference[3, 3] = output[3, 3] = np.nan
    deviations = []
    for block in (2**20, 10):
        monkeypatch.setattr(measured_outputs, "_BLOCK", block)
        comparison = OutputComparison()
        comparison.add({"y": reference}, {"y": output})
        deviations.append(comparison.deviation())
    for figure in ("max_absolute", "max_relative", "relative_l2", "cosine"):
        first, second = (getattr(deviation, figure) for deviation in deviations)
        assert first == pytest.approx(second, rel=1e-12)
