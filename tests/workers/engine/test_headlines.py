"""What a search may publish, on a simulated machine."""

from dataclasses import replace

import pytest

from workers.backends.fake.backend import FakeBackend
from workers.engine import strategies
from workers.engine.stores import MemoryStore
from workers.engine.types import Candidate, Prior, Trial
from workers.testing.simulation import Noise, SimulatedDevice

from .cast import TARGET, WORKLOAD
from .searching import DEFAULT, a_ticket, only, search, true_ratio


def test_a_hopeless_candidate_is_pruned_and_still_told(device: SimulatedDevice) -> None:
    store = only({**DEFAULT, "vectorise": False, "threads": 1})
    result = search(device, replace(a_ticket(), strategy="default"), store)
    trial = result.trials[1]
    assert trial.outcome == "pruned"
    assert trial.ratio == pytest.approx(2.5)
    assert trial.measurement is not None
    assert len(trial.measurement.blocks) == 3


def test_luck_of_one_process_does_not_crown_a_build_that_is_no_faster(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Builds like the baseline, in processes that differ by 3 %: some are sure to look faster."""
    same = [
        options
        for options in FakeBackend().space(WORKLOAD, TARGET).enumerate()
        if options["precision"] == "float32" and 1.0 <= true_ratio(options) < 1.03
    ]
    monkeypatch.setattr(strategies, "FROM_HISTORY", len(same))
    lucky: list[Trial] = []
    for seed in range(4):
        device.noise, device.seed = Noise(run=0.02, process=0.03, drift=0.2), seed
        device.sessions.clear()
        result = search(device, replace(a_ticket(None), strategy="default"), only(*same))
        assert len(result.trials) == len(same)  # one of them is the baseline
        lucky += [t for t in result.trials if t.measurement and t.measurement.verdict == "faster"]
        assert result.best("exact") is result.baseline
    assert lucky


def test_the_published_figure_comes_from_fresh_processes_not_from_the_search(
    device: SimulatedDevice,
) -> None:
    device.noise = Noise(run=0.05, process=0.02, drift=0.2)
    result = search(device, a_ticket(25))
    for headline in result.headlines:
        processes = {block.process for block in headline.measurement.blocks}
        assert 3 <= len(processes) <= 10
        assert headline.measurement != headline.trial.measurement
        interval = headline.measurement.ratio
        assert (
            interval.low * 0.99
            < true_ratio(headline.trial.candidate.options)
            < interval.high * 1.01
        )


def test_lower_precision_that_is_slower_than_a_stricter_build_is_no_finalist(
    device: SimulatedDevice,
) -> None:
    quick = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4, "threads": 3}
    slow = {**DEFAULT, "precision": "int8", "threads": 2}
    assert true_ratio(quick) < true_ratio(slow) < 1
    store = MemoryStore(
        [Prior(Candidate("fake", quick), 0.5, "exact"), Prior(Candidate("fake", slow), 0.6, "int8")]
    )
    result = search(device, replace(a_ticket(), strategy="default"), store)
    assert [headline.trial.candidate.options for headline in result.headlines] == [quick]
