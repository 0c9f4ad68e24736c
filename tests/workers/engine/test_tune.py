"""The whole loop, on a simulated machine."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.device.best import best_result
from workers.engine.errors import Cancelled, InfrastructureFailed, LeaseLost, ReferenceFailed
from workers.engine.ports import PhaseTime
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.trials import Trial
from workers.engine.tune import READABLE_RATIO, tune
from workers.engine.types import Candidate, Options
from workers.testing.simulation import SimulatedDevice, VirtualClock

from .cast import NETWORK, TARGET
from .searching import BACKENDS, DEFAULT, a_request, only, search, stored, true_ratio


def test_the_best_build_of_each_class_is_found_measured_and_told(device: SimulatedDevice) -> None:
    result = search(device, a_request(30))
    for tolerance in ("exact", "int8"):
        best = best_result(result, tolerance)
        assert best.measurement.verdict == "faster"
        options = best.trial.candidate.options
        assert best.measurement.ratio.value == pytest.approx(true_ratio(options), rel=0.01)
        assert best.build.directory is not None
        assert best.build.directory.is_dir()
    assert best_result(result, "exact").build.tolerance == "exact"
    ratios = [best_result(result, t).measurement.ratio.value for t in ("exact", "fp16", "int8")]
    assert ratios[0] == ratios[1] > ratios[2]


def best_three(trials: Sequence[Trial]) -> list[Trial]:
    """What is measured again: of each class, those that beat the stricter ones."""
    found: list[Trial] = []
    bar = 1.0
    for tolerance in ("exact", "int8"):
        of_class = [t for t in trials if t.outcome == "measured" and t.tolerance == tolerance]
        ordered = sorted((t.ratio, t.number, t) for t in of_class if t.ratio is not None)
        found += [trial for ratio, _, trial in ordered[:3] if ratio < bar]
        bar = min([bar, *(ratio for ratio, _, _ in ordered)])
    return found


def test_the_first_trial_is_the_baseline_against_itself(device: SimulatedDevice) -> None:
    result = search(device, a_request(1))
    (trial,) = result.trials
    assert trial.candidate == Candidate("fake", DEFAULT)
    assert trial.proposed_by == "default"
    assert trial.ratio == pytest.approx(1)
    assert result.baseline.measurement.verdict == "same"
    assert best_result(result, "int8") is result.baseline
    assert not result.confirmed_results


def test_the_baseline_may_be_of_another_backend_than_the_reference(
    device: SimulatedDevice,
) -> None:
    """Where the reference does not run on the device, its latency there is unknown."""
    request = replace(a_request(1), backends=("faulty",), baseline_backend="faulty")
    result = search(device, request)
    assert result.baseline.trial.candidate.backend == "faulty"
    assert result.trials[0].ratio == pytest.approx(1)


def test_trials_are_stored_as_they_land(device: SimulatedDevice, clock: VirtualClock) -> None:
    landed: list[tuple[int, float]] = []

    class Watching(MemoryTrialStore):
        def add(self, trial: Trial) -> None:
            landed.append((trial.number, clock.now_s))
            super().add(trial)

    search(device, a_request(5), Watching())
    assert [number for number, _ in landed] == [0, 1, 2, 3, 4]
    assert len({moment for _, moment in landed}) == 5


def test_each_candidate_is_stored_before_it_runs(device: SimulatedDevice) -> None:
    steps: list[tuple[str, str]] = []

    class Watching(MemoryTrialStore):
        def begin(self, candidate: Candidate) -> None:
            steps.append(("begin", candidate.sha256))

        def add(self, trial: Trial) -> None:
            steps.append(("add", trial.candidate.sha256))
            super().add(trial)

    result = search(device, a_request(3), Watching())
    digests = [trial.candidate.sha256 for trial in result.trials]
    assert steps == [(step, digest) for digest in digests for step in ("begin", "add")]


def test_banned_candidates_are_neither_tried_nor_confirmed(device: SimulatedDevice) -> None:
    store = MemoryTrialStore()
    free = search(device, a_request(14), store)
    assert free.confirmed_results
    winners = {one.trial.candidate.sha256 for one in free.confirmed_results}
    # The baseline is measured all the same.
    banned = frozenset({*winners, Candidate("fake", DEFAULT).sha256})
    again = search(device, replace(a_request(14), banned=banned))
    assert again.trials[0].candidate == Candidate("fake", DEFAULT)
    assert not banned & {trial.candidate.sha256 for trial in again.trials[1:]}
    # An earlier attempt has measured them.
    resumed = search(device, replace(a_request(14), banned=banned), store)
    assert not banned & {one.trial.candidate.sha256 for one in resumed.confirmed_results}


def test_a_resumed_search_runs_nothing_twice_and_goes_the_same_way(
    device: SimulatedDevice,
) -> None:
    whole = [trial.candidate for trial in search(device, a_request(14)).trials]
    device.built.clear()

    class Killed(MemoryTrialStore):
        def add(self, trial: Trial) -> None:
            if len(self.trials()) == 6:
                raise LeaseLost("killed")
            super().add(trial)

    store = Killed()
    with pytest.raises(LeaseLost):
        search(device, a_request(14), store)
    paid = list(store.trials())
    device.built.clear()
    result = search(device, a_request(14), stored(paid))
    assert [trial.candidate for trial in result.trials] == whole
    assert [trial.number for trial in result.trials] == list(range(14))
    finals = {trial.number for trial in best_three(result.trials)}
    again = [
        t for t in paid if t.number not in finals and ("fake", t.candidate.options) in device.built
    ]
    assert [t.candidate.options for t in again] == [DEFAULT]  # the baseline's session needs it


def test_a_finished_search_resumed_only_measures_its_finalists(device: SimulatedDevice) -> None:
    store = MemoryTrialStore()
    first = search(device, a_request(10), store)
    device.built.clear()
    again = search(device, a_request(10), store)
    assert [t.number for t in again.trials] == [t.number for t in first.trials]
    numbers = [confirmed.trial.number for confirmed in again.confirmed_results]
    assert numbers == [confirmed.trial.number for confirmed in first.confirmed_results]
    # The reference, the baseline, and the finalists that may still be the best of their class.
    assert 2 < len(device.built) <= 2 + len(best_three(first.trials))


# Budgets


def test_the_budget_of_seconds_holds_over_attempts(device: SimulatedDevice) -> None:
    request = replace(a_request(), budget=SearchBudget(seconds=20, trials=None, patience=None))
    store = MemoryTrialStore()
    result = search(device, request, store)
    spent = sum(trial.duration_s for trial in result.trials)
    longest = max(trial.duration_s for trial in result.trials)
    assert 20 <= spent < 20 + longest
    assert "20 s" in result.stop_reason
    resumed = search(device, request, store)
    assert len(resumed.trials) == len(result.trials)


def test_the_budget_of_trials_holds(device: SimulatedDevice) -> None:
    result = search(device, a_request(7))
    assert len(result.trials) == 7
    assert result.stop_reason == "all 7 trials used"


def test_a_search_ends_when_no_gain_is_expected_any_more(device: SimulatedDevice) -> None:
    result = search(device, replace(a_request(), budget=SearchBudget(None, 400, patience=10)))
    assert result.stop_reason == "no gain beyond noise in 10 trials"
    best_so_far = {"exact": 1.0, "int8": 1.0}
    for trial in result.trials[:-10]:
        if trial.ratio is not None:
            best_so_far[trial.tolerance] = min(best_so_far[trial.tolerance], trial.ratio)
    for trial in result.trials[-10:]:
        # Steps within the noise are none, even if they add up.
        best = best_so_far[trial.tolerance]
        assert trial.ratio is None or trial.ratio > 0.97 * best
        best_so_far[trial.tolerance] = min(best, trial.ratio or best)


def test_a_search_ends_when_every_configuration_was_tried(device: SimulatedDevice) -> None:
    result = search(device, replace(a_request(None), strategy="default"))
    assert result.stop_reason == "every configuration worth a trial was tried"
    assert len(result.trials) == 1


# Failures


def test_every_kind_of_failure_is_a_trial_and_the_search_goes_on(device: SimulatedDevice) -> None:
    faults = ("invalid", "memory", "build-hang", "crash", "hang", "wrong", "nan")
    fast = {**DEFAULT, "threads": 3}
    budget = SearchBudget(None, None, patience=None)
    request = TuningRequest(NETWORK, TARGET, ("faulty",), budget, strategy="default")
    request = replace(request, reference_backend="faulty")
    found: dict[object, Trial] = {}
    for fault in faults:
        store = only({**fast, "fault": fault}, {**fast, "fault": "none"}, backend="faulty")
        result = search(device, request, store)
        found |= {trial.candidate.options["fault"]: trial for trial in result.trials[1:]}
        assert best_result(result, "exact").trial.candidate.options["fault"] == "none"
    assert {fault: trial.outcome for fault, trial in found.items()} == {
        "invalid": "invalid",
        "memory": "crash",
        "build-hang": "timeout",
        "crash": "crash",
        "hang": "timeout",
        "wrong": "wrong-output",
        "nan": "wrong-output",
        "none": "measured",
    }
    assert all(found[fault].detail for fault in faults)
    assert found["wrong"].deviation is not None
    assert all(session.closed for session in device.sessions)


def test_a_reference_that_does_not_run_ends_the_search(device: SimulatedDevice) -> None:
    class Broken(FakeBackend):
        def reference(self, network: object, target: object) -> Options:  # noqa: ARG002
            return {**DEFAULT, "kernel": "gone"}

    with pytest.raises(ReferenceFailed, match="not in the space") as raised:
        tune(a_request(), {"fake": Broken()}, device, MemoryTrialStore(), clock=device.clock)
    assert raised.value.outcome == "invalid"


def test_a_baseline_that_disagrees_with_the_reference_ends_the_search(
    device: SimulatedDevice,
) -> None:
    class Wrong(FaultyBackend):
        def default(self, network: object, target: object) -> Options:
            return {**super().default(network, target), "fault": "wrong"}  # type: ignore[arg-type]

        def reference(self, network: object, target: object) -> Options:
            return {**super().default(network, target), "fault": "none"}  # type: ignore[arg-type]

    request = replace(a_request(), backends=("faulty",), reference_backend="faulty")
    with pytest.raises(ReferenceFailed) as raised:
        tune(request, {"faulty": Wrong()}, device, MemoryTrialStore(), clock=device.clock)
    assert raised.value.outcome == "wrong-output"
    assert all(session.closed for session in device.sessions)


def test_samples_that_do_not_fit_the_graph_end_the_search(device: SimulatedDevice) -> None:
    device.samples_file = {"inputs/x": np.zeros((4, 3), np.float32)}
    with pytest.raises(ReferenceFailed, match="shape"):
        search(device)


def test_a_machine_that_fails_is_not_charged_and_is_given_up(device: SimulatedDevice) -> None:
    class Breaking(MemoryTrialStore):
        def add(self, trial: Trial) -> None:
            super().add(trial)
            device.broken = trial.number >= 1

    store = Breaking()
    with pytest.raises(InfrastructureFailed):
        search(device, a_request(20), store)
    failed = [trial.outcome == "infrastructure" for trial in store.trials()]
    assert failed == [False, False, True, True, True]
    device.broken = False
    result = search(device, a_request(6), stored(store.trials()))
    assert sum(trial.outcome != "infrastructure" for trial in result.trials) == 6


def test_a_dead_baseline_costs_one_trial_and_comes_back(device: SimulatedDevice) -> None:
    class Killing(MemoryTrialStore):
        def add(self, trial: Trial) -> None:
            super().add(trial)
            if trial.number == 1:
                alive = [s for s in device.sessions if s.role == "baseline" and not s.closed]
                alive[0].fails = "crash"

    result = search(device, a_request(6), Killing())
    outcomes = [trial.outcome for trial in result.trials]
    assert outcomes.count("infrastructure") == 1
    assert outcomes[2] == "infrastructure"
    again = [trial.candidate for trial in result.trials].count(result.trials[2].candidate)
    assert again == 2


@pytest.mark.parametrize("stop", [Cancelled, LeaseLost, KeyboardInterrupt])
@pytest.mark.parametrize("phase", ["reference", "search", "confirmation"])
def test_a_stop_from_outside_passes_through_and_closes_every_session(
    stop: type[BaseException], phase: str, device: SimulatedDevice
) -> None:
    def progress(at: str, done: int, total: int | None, message: str, *_: object) -> None:
        if at == phase and (done == 3 or phase != "search"):
            raise stop

    with pytest.raises(stop):
        tune(
            a_request(8),
            BACKENDS,
            device,
            MemoryTrialStore(),
            clock=device.clock,
            progress=progress,
        )
    assert all(session.closed for session in device.sessions)


def test_progress_tells_the_seconds_that_each_phase_has_used(device: SimulatedDevice) -> None:
    times: dict[str, list[PhaseTime]] = {"search": [], "confirmation": []}

    def progress(
        phase: str, done: int, total: int | None, message: str, phase_time: PhaseTime | None = None
    ) -> None:
        if phase_time:
            times[phase].append(phase_time)

    request = a_request(8)
    store = MemoryTrialStore()
    tune(request, BACKENDS, device, store, clock=device.clock, progress=progress)
    budgets = (request.budget.seconds, request.budget.confirmation_seconds)
    for reports, budget_s in zip(times.values(), budgets, strict=True):
        used = [report.used_s for report in reports]
        assert used[0] == 0 < used[-1]
        assert used == sorted(used)
        assert {report.budget_s for report in reports} == {budget_s}
    trials = store.trials()
    assert times["search"][-1].used_s == sum(trial.duration_s for trial in trials[:-1])


def test_builds_nobody_needs_are_deleted_during_the_search(device: SimulatedDevice) -> None:
    result = search(device, a_request(20))
    left = {path.name for path in device.root.iterdir()}
    assert len(left) == 1 + len(result.confirmed_results)  # the baseline's and the finalists'
    assert len(result.confirmed_results) <= 6


def test_the_fastest_build_whose_code_can_be_read_is_confirmed_however_slow(
    device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {**DEFAULT, "vectorise": False, "threads": 1, "fault": "none"}
    slower = {**slow, "kernel": "blocked", "tile": 8, "unroll": 8, "layout": "nhwc"}
    assert 1 < true_ratio(slow) < READABLE_RATIO
    default = Candidate("faulty", FaultyBackend().default(NETWORK, TARGET))
    request = replace(a_request(3), strategy="default", backends=("fake", "faulty"))
    request = replace(request, banned=frozenset({default.sha256}))
    store = only(slower, slow, backend="faulty")
    assert not search(device, request, store).confirmed_results
    monkeypatch.setattr(FaultyBackend, "has_code", True)
    store = only(slower, slow, backend="faulty")
    (result,) = search(device, request, store).confirmed_results
    assert result.trial.candidate.backend == "faulty"
    fastest = min(slow, slower, key=true_ratio)
    assert result.trial.candidate.options == fastest
    assert result.measurement.verdict == "slower"
    assert result.build.directory is not None
    assert result.build.directory.is_dir()
    # So slow a build says nothing about what a fast one needs.
    monkeypatch.setattr("workers.engine.tune.READABLE_RATIO", 1.1)
    assert not search(device, request, only(slower, slow, backend="faulty")).confirmed_results


def test_samples_with_labels_give_accuracies(device: SimulatedDevice) -> None:
    rng = np.random.default_rng(0)
    device.samples_file = {
        "inputs/x": rng.standard_normal((40, 8)).astype(np.float32),
        "labels": rng.integers(0, 10, 40),
    }
    result = search(device, a_request(6))
    assert result.reference_accuracy is not None
    assert 0 <= result.reference_accuracy <= 1
    assert result.baseline.output_check.accuracy == result.reference_accuracy
    assert result.tests.source == "samples"
