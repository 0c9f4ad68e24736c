"""Measurements whose baseline is off the level of the search are repeated or not believed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hpcfair.measurement.level import MOST_REPETITIONS
from hpcfair.measurement.types import Block, Deviation, Interval, Timing
from workers.engine.confirmation import ConfirmationEffort, confirm
from workers.engine.contention import Load
from workers.engine.evaluation import Evaluation
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.numerics import OutputCheck
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.rounds import Rounds, StopRule
from workers.engine.search_result import InterimResults, SearchResult
from workers.engine.search_state import SearchState
from workers.engine.strategies.base import Proposal, Strategy
from workers.engine.trials import Measurement, Trial
from workers.engine.types import Candidate, Options
from workers.testing.simulation import SimulatedDevice, SimulatedSession

from .cast import NETWORK, TARGET
from .searching import BACKENDS, DEFAULT, a_request, search, true_ratio

QUICK: Options = {**DEFAULT, "threads": 3}
RULE = StopRule(half_width=0.03, seconds=4.0)
Slow = Callable[[int], bool]


@pytest.fixture
def slow_baselines(monkeypatch: pytest.MonkeyPatch) -> Callable[[Slow], list[int]]:
    """Makes the baseline's processes, numbered from 0, slow by a factor of 1.8; returns the numbers
    of those that were opened."""

    def install(is_slow: Slow) -> list[int]:
        opened: list[int] = []
        numbers: dict[int, int] = {}
        time = SimulatedSession.time

        def timed(self: SimulatedSession, runs: int, warmup: int) -> Timing:
            timing = time(self, runs, warmup)
            if self.role != "baseline":
                return timing
            if id(self) not in numbers:
                numbers[id(self)] = len(opened)
                opened.append(len(opened))
            factor = 1.8 if is_slow(numbers[id(self)]) else 1.0
            return replace(timing, samples_ns=tuple(int(ns * factor) for ns in timing.samples_ns))

        monkeypatch.setattr(SimulatedSession, "time", timed)
        return opened

    return install


def test_a_slow_process_of_the_baseline_misleads_no_trial(
    device: SimulatedDevice, slow_baselines: Callable[[Slow], list[int]]
) -> None:
    """As soon as the first is noticed, it is replaced; the ratios are the true ones."""
    slow_baselines(lambda number: number % 4 == 2)
    result = search(device, a_request(12))
    for confirmed in result.confirmed_results:
        true = true_ratio(confirmed.trial.candidate.options)
        assert confirmed.measurement.ratio.value == pytest.approx(true, rel=0.02)
    assert result.confirmed_results


def test_a_confirmation_repeats_the_slow_process(
    device: SimulatedDevice, slow_baselines: Callable[[Slow], list[int]]
) -> None:
    opened = slow_baselines(lambda number: number == 2)
    request = TuningRequest(NETWORK, TARGET, ("fake",), SearchBudget(), reference_backend="fake")
    build = device.build("fake", QUICK)
    trial = Trial(0, Candidate("fake", QUICK), "test", "measured", 1.0, build)
    with EvaluationContext(request, BACKENDS["fake"], device, device.clock) as context:
        result = confirm(context, trial, build, ConfirmationEffort(5, 0.0, 100.0))
    assert result.measurement.quality["repeated_processes"] == 1
    assert "disturbed" not in result.measurement.quality
    assert result.measurement.ratio.value == pytest.approx(true_ratio(QUICK), rel=0.01)
    assert len(opened) == 4


@pytest.mark.parametrize("is_slow", [lambda _: True, lambda n: n % 2 == 0, lambda n: n > 4])
def test_a_search_ends_whatever_the_baseline_does(
    device: SimulatedDevice, slow_baselines: Callable[[Slow], list[int]], is_slow: Slow
) -> None:
    opened = slow_baselines(is_slow)
    result = search(device, a_request(6))
    assert len(result.trials) == 6
    assert len(opened) <= (6 + 10 * len(result.confirmed_results) + 2) * (MOST_REPETITIONS + 1)


def rounds_of(count: int) -> Rounds:
    blocks = [Block(0, (100, 100), (30, 30))] * count
    return Rounds(blocks, loads=[Load(None, None)])


def test_what_stays_off_its_level_is_disturbed_and_not_believed() -> None:
    rounds = rounds_of(8)
    assert rounds.measurement(RULE).verdict == "faster"
    rounds.set_aside(0, 1.8)
    measured = rounds.measurement(RULE)
    assert measured.verdict == "unstable"
    assert measured.quality["disturbed"]
    assert measured.quality["baseline_shift"] == 1.8
    assert not trial(0, measured).is_believed


def test_one_process_set_aside_among_several_is_left_out() -> None:
    rounds = rounds_of(9)
    rounds.blocks[6:] = [Block(2, (180, 180), (30, 30))] * 3
    rounds.set_aside(6, 1.8)
    measured = rounds.measurement(RULE)
    assert "baseline_shift" not in measured.quality
    assert measured.ratio.value == pytest.approx(0.3)


def trial(number: int, measurement: Measurement | None = None) -> Trial:
    ratio = Interval(0.3 + number / 10, 0.3 + number / 10, 0.3 + number / 10)
    measurement = measurement or Measurement((), ratio, 1, 1, "faster")
    candidate = Candidate("fake", {"number": number})
    return Trial(number, candidate, "test", "measured", 1.0, measurement=measurement)


def test_a_trial_that_became_doubtful_displaces_none_and_is_confirmed_beside_them() -> None:
    trials = [trial(0), trial(1), trial(2)]
    budget = SearchBudget(candidates_to_confirm=1)
    state = SearchState(budget, Candidate("fake", DEFAULT), trials, lambda number: number == 0)
    assert [each.number for each in state.candidates_to_confirm()] == [1, 0]


def off_level_trial(number: int) -> Trial:
    rounds = rounds_of(8)
    rounds.set_aside(0, 1.8)
    return trial(number, rounds.measurement(RULE))


def test_a_trial_off_its_level_displaces_none_and_is_confirmed_beside_them() -> None:
    trials = [off_level_trial(0), trial(1), trial(2)]
    state = SearchState(SearchBudget(candidates_to_confirm=1), Candidate("fake", DEFAULT), trials)
    assert [each.number for each in state.candidates_to_confirm()] == [1, 0]


def test_a_trial_off_its_level_is_not_shown_while_the_search_goes_on(
    device: SimulatedDevice,
) -> None:
    exact, int8 = (device.build("fake", {**QUICK, "precision": p}) for p in ("float32", "int8"))
    trials = [
        replace(trial(0), candidate=Candidate("fake", DEFAULT), build=exact),
        replace(off_level_trial(1), build=int8),
        replace(trial(2), build=exact),
    ]
    check = OutputCheck(Deviation(0.0, 0.0, 0.0, 1.0), None, 1)
    shown: list[SearchResult] = []
    with EvaluationContext(a_request(), BACKENDS["fake"], device, device.clock) as context:
        state = SearchState(SearchBudget(), context.baseline, [])
        interim = InterimResults(context, state, shown.append)
        for each in trials:
            state.add(each)
            interim.add(Evaluation(each, check))
    assert trials[1] in state.candidates_to_confirm()
    assert [each.trial.number for each in shown[-1].confirmed_results] == [2]


def test_a_trial_off_its_level_is_not_learned() -> None:
    disturbed = off_level_trial(0)
    learned: list[int] = []

    class Learning(Strategy):
        def propose(self, excluded: object) -> Proposal | None:  # noqa: ARG002
            return None

        def learn(self, trial: Trial) -> None:
            learned.append(trial.number)

    strategy = Learning()
    for each in (disturbed, trial(1)):
        strategy.tell(each)
    assert learned == [1]
