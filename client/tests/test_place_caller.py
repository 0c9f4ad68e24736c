"""A loaded model keeps the calling thread off the processors of ONNX Runtime's workers."""

import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from hpcfair import serialrunner
from hpcfair.client import Client
from hpcfair.loaded import Loaded
from hpcfair.measurement import placement
from hpcfair.measurement.placement import remaining_processors

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux and two processors",
)
X = np.ones((2, 4), np.float32)


@pytest.fixture(autouse=True)
def any_run_is_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialrunner, "SHORTEST_RUN_NS", 0)
    own = os.sched_getaffinity(0)
    monkeypatch.setattr(placement, "processors_of_machine", lambda: own)


@pytest.fixture
def load(client: Client, resolution: dict[str, Any]) -> Callable[..., Loaded]:
    """Loads the published model in ONNX Runtime's defaults, which pin workers."""
    resolution |= {"build": None, "record_id": None}
    return lambda **options: client.load("lab/tiny", target=None, **options)


def affinities(model: Loaded, runs: int = 3) -> list[set[int]]:
    """The calling thread's processors in each of several runs, once the workers have started."""
    seen: list[set[int]] = []
    if getattr(model._runner.runtime, "pins_workers", False):
        _await_pinned_workers()
    run = model._runner.runtime.run

    def watched(inputs: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(os.sched_getaffinity(0))
        return run(inputs)

    model._runner.runtime.run = watched  # type: ignore[method-assign]
    for _ in range(runs):
        model(X)
    return seen


def _await_pinned_workers() -> None:
    """Workers pin themselves when the kernel first runs them, on a busy machine after some runs."""
    end = monotonic() + 5
    while remaining_processors() == os.sched_getaffinity(0) and monotonic() < end:
        sleep(0.01)


def test_the_caller_is_placed_after_the_first_run_and_free_between_runs(
    load: Callable[..., Loaded],
) -> None:
    own = os.sched_getaffinity(0)
    model = load()
    assert not model.caller_placed
    # A run of this network may end before all workers have pinned themselves.
    first, *_, last = affinities(model, runs=4)
    assert first == own
    assert last
    assert last < own
    assert model.caller_placed
    assert os.sched_getaffinity(0) == own


def test_a_build_that_pins_no_workers_leaves_the_caller_alone(
    client: Client, resolution: dict[str, Any]
) -> None:
    own = os.sched_getaffinity(0)
    model = client.load("lab/tiny")
    assert affinities(model) == [own] * 3
    assert not model.caller_placed


def test_the_caller_is_never_placed_if_told_not_to(load: Callable[..., Loaded]) -> None:
    own = os.sched_getaffinity(0)
    model = load(place_caller=False)
    assert affinities(model) == [own] * 3
    assert not model.caller_placed


def test_a_restricted_thread_is_placed_on_request_only(
    load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.sched_getaffinity(0)
    monkeypatch.setattr(placement, "processors_of_machine", lambda: {*own, max(own) + 1})
    assert affinities(load()) == [own] * 3
    assert affinities(load(place_caller=True))[-1] < own


def test_short_runs_are_left_alone(
    load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialrunner, "SHORTEST_RUN_NS", 10**12)
    assert affinities(load()) == [os.sched_getaffinity(0)] * 3


def test_threads_that_share_models_are_placed_one_at_a_time_and_restored(
    load: Callable[..., Loaded],
) -> None:
    own = os.sched_getaffinity(0)
    models = [load(), load()]

    def call(number: int) -> set[int]:
        np.testing.assert_allclose(models[number % 2](X), 2.0)
        return os.sched_getaffinity(0)

    with ThreadPoolExecutor(4) as pool:
        assert all(after == own for after in pool.map(call, range(200)))
    assert not placement._TURN.locked()


def test_a_failed_run_restores_the_caller(
    load: Callable[..., Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.sched_getaffinity(0)
    model = load()
    model(X)

    def fail(_: Mapping[str, Any]) -> dict[str, Any]:
        raise RuntimeError("failed")

    monkeypatch.setattr(model._runner.runtime, "run", fail)
    with pytest.raises(RuntimeError, match="failed"):
        model(X)
    assert os.sched_getaffinity(0) == own
