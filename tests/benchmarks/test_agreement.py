"""What the benchmark of agreement counts, on a simulated machine."""

import pytest

from benchmarks.agreement import Search, figures_of, search_of, share
from hpcfair.measurement.types import Interval
from tests.benchmarks.test_served import NETWORK, TARGET
from workers.backends.fake.backend import FakeBackend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.tune import tune
from workers.testing.simulation import Noise, SimulatedDevice, VirtualClock


def searched(*pairs: tuple[Interval, Interval], gain: float = 0.0, macs: int = 2 * 10**9) -> Search:
    return Search("model", macs, 20, 5, 10.0, pairs, gain)


def test_intervals_that_overlap_agree_and_small_gains_are_no_undecided_ones() -> None:
    trial, near, far = Interval(0.8, 0.7, 0.9), Interval(0.85, 0.84, 0.86), Interval(0.6, 0.5, 0.65)
    figures = figures_of(
        [
            searched((trial, near), (trial, near), gain=0.04),
            searched((trial, far), gain=0.2),
            searched((trial, near), macs=10**6),
        ]
    )
    assert figures["agreement"].value == 0.75
    assert figures["undecided"].value == pytest.approx(1 / 3)
    assert figures["pruned"].value == 0.25
    assert figures["trials_per_s"].value == 2.0
    assert "trials_per_s" not in figures_of([searched(macs=10**6)])


def test_a_share_has_an_interval_that_ends_at_none_and_all() -> None:
    some, every = share(19, 20), share(20, 20)
    assert some.low == pytest.approx(0.764, abs=0.001)
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low == pytest.approx(0.839, abs=0.001)
    assert (share(0, 0).low, share(0, 0).high) == (0.0, 1.0)


def test_a_search_of_a_noisy_machine_is_described() -> None:
    clock = VirtualClock()
    backends = {"fake": FakeBackend()}
    budget = SearchBudget(seconds=None, trials=8, confirmation_processes=4)
    request = TuningRequest(NETWORK, TARGET, ("fake",), budget, reference_backend="fake")
    with SimulatedDevice(backends, NETWORK, TARGET, clock, Noise()) as device:
        result = tune(request, backends, device, MemoryTrialStore(), clock=clock)
    search = search_of(NETWORK, "fake", result)
    assert (search.trials, search.macs) == (8, NETWORK.macs)
    assert len(search.pairs) == len(result.confirmed_results) > 0
    assert search.trials_s > 0
