"""What a search may publish, on a simulated machine."""

from dataclasses import replace

import pytest

from workers.backends.fake.backend import FakeBackend
from workers.device.best import best_result
from workers.engine import strategies
from workers.engine.rounds import PRUNE_ROUNDS
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.trials import Prior, Trial
from workers.engine.types import Candidate
from workers.testing.simulation import Noise, SimulatedDevice

from .cast import NETWORK, TARGET
from .searching import DEFAULT, a_request, only, search, true_ratio


def test_a_hopeless_candidate_is_pruned_and_still_told(device: SimulatedDevice) -> None:
    store = only({**DEFAULT, "vectorise": False, "threads": 1})
    result = search(device, replace(a_request(), strategy="default"), store)
    trial = result.trials[1]
    assert trial.outcome == "pruned"
    assert trial.ratio == pytest.approx(2.5)
    assert trial.measurement is not None
    assert len(trial.measurement.blocks) == PRUNE_ROUNDS


def test_luck_of_one_process_does_not_crown_a_build_that_is_no_faster(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Builds like the baseline, in processes that differ by 3 %: some are sure to look faster."""
    same = [
        options
        for options in FakeBackend().space(NETWORK, TARGET).enumerate()
        if options["precision"] == "float32" and 1.0 <= true_ratio(options) < 1.03
    ]
    monkeypatch.setattr(strategies, "FROM_HISTORY", len(same))
    lucky: list[Trial] = []
    for seed in range(4):
        device.noise, device.seed = Noise(run=0.02, process=0.03, drift=0.2), seed
        device.sessions.clear()
        result = search(device, replace(a_request(None), strategy="default"), only(*same))
        assert len(result.trials) == len(same)  # one of them is the baseline
        lucky += [t for t in result.trials if t.measurement and t.measurement.verdict == "faster"]
        assert best_result(result, "exact") is result.baseline
    assert lucky


def test_the_published_figure_comes_from_fresh_processes_not_from_the_search(
    device: SimulatedDevice,
) -> None:
    device.noise = Noise(run=0.05, process=0.02, drift=0.2)
    result = search(device, a_request(25))
    for confirmed in result.confirmed_results:
        processes = {block.process for block in confirmed.measurement.blocks}
        assert 3 <= len(processes) <= 10
        assert confirmed.measurement != confirmed.trial.measurement
        interval = confirmed.measurement.ratio
        assert (
            interval.low * 0.99
            < true_ratio(confirmed.trial.candidate.options)
            < interval.high * 1.01
        )


def test_lower_precision_that_is_slower_than_a_stricter_build_is_no_finalist(
    device: SimulatedDevice,
) -> None:
    quick = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4, "threads": 3}
    slow = {**DEFAULT, "precision": "int8", "threads": 2}
    assert true_ratio(quick) < true_ratio(slow) < 1
    store = MemoryTrialStore(
        [Prior(Candidate("fake", quick), 0.5, "exact"), Prior(Candidate("fake", slow), 0.6, "int8")]
    )
    result = search(device, replace(a_request(), strategy="default"), store)
    assert [confirmed.trial.candidate.options for confirmed in result.confirmed_results] == [quick]
