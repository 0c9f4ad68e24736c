"""The finalists of a search, measured again in as many fresh processes as tell something."""

from collections.abc import Sequence

import pytest

from hpcfair.precisions import Tolerance
from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.engine.confirmation import FEWEST_PROCESSES, ConfirmedResult
from workers.engine.confirmation_runs import confirm_candidates
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.space import Choice, Conditional, Space
from workers.engine.trials import Trial
from workers.engine.types import BuildResult, Candidate, Options
from workers.testing.simulation import Noise, SimulatedDevice

from .cast import NETWORK, TARGET
from .searching import DEFAULT, true_ratio

QUICK: Options = {**DEFAULT, "threads": 3}
QUICKER: Options = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4, "threads": 3}
SMALL: Options = {**QUICK, "precision": "int8"}
ROUGH = Noise(run=0.02, process=0.02, drift=0.2)


def confirmed_results(
    device: SimulatedDevice,
    *options: Options,
    backend: str = "fake",
    wait_s: float = 0.0,
    resumed: bool = False,
    **budget: float,
) -> list[ConfirmedResult]:
    """Headlines of these finalists, as if a search had just found them.

    Args:
        resumed: The search was cut short, and their files are gone.
        wait_s: Whoever is told of progress holds the search for so long.
    """
    limits = SearchBudget(**budget)  # type: ignore[arg-type]
    request = TuningRequest(NETWORK, TARGET, (backend,), limits, reference_backend=backend)
    made: Sequence[FakeBackend] = (FakeBackend(), FaultyBackend())
    reference = next(each for each in made if each.name == backend)
    with EvaluationContext(request, reference, device, device.clock) as context:
        candidates_to_confirm: list[tuple[Trial, BuildResult | None]] = [
            _trial(device, backend, number, each) for number, each in enumerate(options)
        ]
        if resumed:
            candidates_to_confirm = [(trial, None) for trial, _ in candidates_to_confirm]
        results, _ = confirm_candidates(
            context, candidates_to_confirm, lambda *_: device.clock.sleep(wait_s)
        )
        return results


def _trial(
    device: SimulatedDevice, backend: str, number: int, options: Options
) -> tuple[Trial, BuildResult]:
    build = device.build(backend, options)
    return Trial(number, Candidate(backend, options), "test", "measured", 1.0, build), build


def gaining(low: float, high: float) -> Options:
    """A float32 candidate whose true ratio lies between these."""
    space = FakeBackend().space(NETWORK, TARGET)
    exact = (options for options in space.enumerate() if options["precision"] == "float32")
    return next(options for options in exact if low < true_ratio(options) < high)


def verdicts(results: Sequence[ConfirmedResult]) -> list[str]:
    return [result.measurement.verdict for result in results]


def processes(confirmed: ConfirmedResult) -> int:
    return len({block.process for block in confirmed.measurement.blocks})


def test_a_small_gain_is_proved_with_more_processes(device: SimulatedDevice) -> None:
    """Three of them would leave a gain of a few per cent in doubt."""
    few = gaining(0.93, 0.95)
    hurried, patient = [], []
    for seed in range(3):
        device.noise, device.seed = ROUGH, seed
        hurried += confirmed_results(device, few, confirmation_processes=FEWEST_PROCESSES)
        patient += confirmed_results(device, few)
    assert {processes(each) for each in hurried} == {FEWEST_PROCESSES}
    assert all(processes(each) == 20 or each.measurement.verdict == "faster" for each in patient)
    assert verdicts(patient).count("faster") > verdicts(hurried).count("faster")


def test_processes_end_when_the_outcome_is_decided(device: SimulatedDevice) -> None:
    (exact,) = confirmed_results(device, QUICK)
    assert processes(exact) == FEWEST_PROCESSES
    device.noise = Noise(run=0.0, process=0.01, drift=0.0)
    (rough,) = confirmed_results(device, QUICK, confirmation_half_width=0.02)
    assert FEWEST_PROCESSES <= processes(rough) < 10
    assert verdicts([rough]) == ["faster"]


def test_the_best_of_each_class_has_its_processes_whatever_the_time_and_no_more(
    device: SimulatedDevice,
) -> None:
    device.noise = ROUGH
    results = confirmed_results(device, QUICKER, QUICK, SMALL, confirmation_seconds=0.0)
    assert [each.trial.candidate.options for each in results] == [QUICKER, SMALL]
    assert {processes(each) for each in results} == {FEWEST_PROCESSES}


def test_the_time_is_kept_to(device: SimulatedDevice) -> None:
    device.noise = Noise(run=0.05, process=0.05, drift=0.2)
    before = device.clock.now_s
    confirmed_results(
        device, QUICKER, SMALL, confirmation_half_width=0.0001, confirmation_seconds=0.0
    )
    least_s = device.clock.now_s - before
    before = device.clock.now_s
    found = confirmed_results(
        device, QUICKER, SMALL, confirmation_half_width=0.0001, confirmation_seconds=least_s
    )
    assert device.clock.now_s - before <= least_s * 1.6
    assert max(processes(each) for each in found) > FEWEST_PROCESSES


def test_an_interval_that_says_nothing_is_worth_more_time(
    device: SimulatedDevice,
) -> None:
    """A disturbed process among three must not cost users a build that is several times as fast."""
    device.noise = Noise(run=0.0, process=0.4, drift=0.0)
    before = device.clock.now_s
    (short,) = confirmed_results(device, QUICKER, confirmation_seconds=0.0)
    least_s = device.clock.now_s - before
    assert processes(short) == FEWEST_PROCESSES
    before = device.clock.now_s
    (wide,) = confirmed_results(device, QUICKER, confirmation_seconds=0.5 * least_s)
    assert FEWEST_PROCESSES < processes(wide) < 10
    assert device.clock.now_s - before <= 2 * least_s


def test_waiting_for_a_quiet_machine_costs_no_processes(device: SimulatedDevice) -> None:
    device.noise = Noise(run=0.0, process=0.4, drift=0.0)
    hurried = confirmed_results(device, QUICKER, confirmation_processes=6)
    patient = confirmed_results(device, QUICKER, confirmation_processes=6, wait_s=100.0)
    assert processes(hurried[0]) == processes(patient[0]) > FEWEST_PROCESSES


def test_making_files_again_costs_no_processes(device: SimulatedDevice) -> None:
    device.noise = Noise(run=0.0, process=0.4, drift=0.0)
    (fresh,) = confirmed_results(device, QUICKER, confirmation_processes=6)
    device.build_s = 100.0
    (resumed,) = confirmed_results(device, QUICKER, confirmation_processes=6, resumed=True)
    assert processes(resumed) == processes(fresh) > FEWEST_PROCESSES


def test_beyond_the_budget_time_goes_where_a_gain_is_in_doubt(device: SimulatedDevice) -> None:
    """Whatever is true of a build several times as fast, it is faster."""
    few = gaining(0.85, 0.9)
    clear: Options = {**QUICKER, "precision": "int8"}
    device.noise = Noise(run=0.0, process=0.03, drift=0.0)
    before = device.clock.now_s
    short = confirmed_results(device, few, clear, confirmation_seconds=0.0)
    assert {processes(each) for each in short} == {FEWEST_PROCESSES}
    seconds = device.clock.now_s - before
    doubtful, plain = confirmed_results(device, few, clear, confirmation_seconds=seconds)
    assert processes(doubtful) > processes(plain)


def test_within_the_budget_too_what_is_clear_waits_for_what_is_in_doubt(
    device: SimulatedDevice,
) -> None:
    few = gaining(0.85, 0.9)
    clear: Options = {**QUICKER, "precision": "int8"}
    device.noise = Noise(run=0.0, process=0.03, drift=0.0)
    before = device.clock.now_s
    confirmed_results(device, few, clear, confirmation_seconds=0.0)
    seconds = 1.3 * (device.clock.now_s - before)
    doubtful, plain = confirmed_results(device, few, clear, confirmation_seconds=seconds)
    assert plain.measurement.ratio.high < 0.8
    assert verdicts([doubtful, plain]) == ["faster", "faster"]
    assert processes(doubtful) > FEWEST_PROCESSES


def test_a_leader_of_whom_little_is_known_leaves_the_others_their_time(
    device: SimulatedDevice,
) -> None:
    """Trials are short: who led there may well be second."""
    before = device.clock.now_s
    confirmed_results(device, QUICK, confirmation_seconds=0.0)
    seconds = 3 * (device.clock.now_s - before)
    device.noise = Noise(run=0.0, process=0.1, drift=0.0)
    for device.seed in range(4):
        found = confirmed_results(device, QUICK, QUICKER, confirmation_seconds=seconds)
        count = {each.trial.number: processes(each) for each in found}
        assert min(count[0], count[1]) >= FEWEST_PROCESSES


def test_one_that_is_much_closer_to_the_reference_is_not_given_up(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = Conditional("precision", ("int8",), Choice((0, 0.08, 0.09)))
    parameters = FakeBackend().space(NETWORK, TARGET).parameters
    monkeypatch.setattr(FakeBackend, "space", lambda *_: Space({**parameters, "error": error}))
    fast, slow = ({**each, "precision": "int8"} for each in (QUICKER, QUICK))
    rough, close, similar = ({**fast, "error": 0.09}, {**slow, "error": 0}, {**slow, "error": 0.08})
    results = confirmed_results(device, rough, close)
    assert [each.trial.candidate.options for each in results] == [rough, close]
    assert {processes(each) for each in results} == {FEWEST_PROCESSES}
    results = confirmed_results(device, rough, similar)
    assert [each.trial.candidate.options for each in results] == [rough]


def test_one_that_its_classmate_beats_in_every_round_is_given_up(device: SimulatedDevice) -> None:
    results = confirmed_results(device, QUICKER, QUICK)
    assert [each.trial.candidate.options for each in results] == [QUICKER]
    kept = {results[0].build.directory}
    assert kept < set(device.root.iterdir())
    assert len(list(device.root.iterdir())) == 2  # the baseline's besides


def test_who_cannot_be_the_best_any_more_gets_no_more_processes(device: SimulatedDevice) -> None:
    """Of two builds alike but for their luck, only the one that may be better goes on."""
    device.noise = Noise(run=0.02, process=0.05, drift=0.0)
    found = confirmed_results(device, QUICK, QUICK, QUICK, confirmation_half_width=0.0001)
    assert max(processes(each) for each in found) <= 20
    # Once one is proved, the others would bring nothing considerable.
    assert verdicts(found).count("faster") == 1
    assert sum(processes(each) for each in found) < 3 * max(processes(each) for each in found)


@pytest.mark.parametrize("fault", ["crash", "wrong"])
def test_where_the_best_of_a_class_fails_the_next_takes_its_place(
    device: SimulatedDevice, fault: str
) -> None:
    bad: Options = {**QUICKER, "fault": fault}
    good: Options = {**QUICK, "fault": "none"}
    found = confirmed_results(device, bad, good, backend="faulty", confirmation_seconds=0.0)
    assert [each.trial.candidate.options for each in found] == [good]
    assert processes(found[0]) == FEWEST_PROCESSES


def test_finalists_whose_files_are_gone_are_built_again(device: SimulatedDevice) -> None:
    tolerance: Tolerance = "exact"
    trial = Trial(0, Candidate("fake", QUICK), "resumed", "measured", 1.0)
    request = TuningRequest(NETWORK, TARGET, ("fake",), reference_backend="fake")
    with EvaluationContext(request, FakeBackend(), device, device.clock) as context:
        device.built.clear()
        (found,), _ = confirm_candidates(context, [(trial, None)], lambda *_: None)
    assert device.built == [("fake", QUICK)]
    assert found.build.tolerance == tolerance
