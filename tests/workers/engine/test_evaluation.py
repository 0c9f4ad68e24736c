"""How much of an evaluation a candidate gets, on a simulated machine."""

from dataclasses import replace

import numpy as np
import pytest

from workers.backends.fake.backend import FakeBackend
from workers.engine.briefcheck import brief_test_set
from workers.engine.evaluation import NO_BAR, Bar, evaluate
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import RunningSession
from workers.engine.rounds import PRUNE_ROUNDS
from workers.engine.strategies import Proposal
from workers.engine.testset import BRIEF_MACS, make_test_set
from workers.engine.types import Candidate, Options
from workers.testing.simulation import SimulatedDevice

from .cast import NETWORK
from .searching import DEFAULT, a_request, true_ratio

QUICK: Options = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4, "threads": 3}
COSTLY = replace(NETWORK, macs=BRIEF_MACS // 2)


@pytest.mark.parametrize(
    ("bar", "checks", "outcome"),
    [
        (Bar(useful=1.0, leading=1.0), ["brief", "full"], "measured"),
        (Bar(useful=1.0, leading=0.3), ["brief"], "measured"),
        (Bar(useful=0.3, leading=0.3), [], "pruned"),
    ],
)
def test_only_the_fastest_so_far_is_checked_in_full_and_a_slow_one_not_at_all(
    device: SimulatedDevice,
    monkeypatch: pytest.MonkeyPatch,
    bar: Bar,
    checks: list[str],
    outcome: str,
) -> None:
    assert 0.3 * 1.2 < true_ratio(QUICK) < 1.0
    request = replace(a_request(), network=COSTLY)
    device.network = COSTLY
    candidate = Candidate("fake", QUICK)
    with EvaluationContext(request, FakeBackend(), device, device.clock) as context:
        made: list[str] = []
        real = context.compare

        def compare(session: RunningSession, *, brief: bool, planted: bool) -> object:
            made.append("brief" if brief else "full")
            return real(session, brief=brief, planted=planted)

        monkeypatch.setattr(context, "compare", compare)
        trial = evaluate(context, 0, Proposal(candidate, "test"), lambda _: bar).trial
        again = evaluate(context, 1, Proposal(candidate, "test"), lambda _: bar).trial
    assert made == checks * 2
    assert trial.outcome == outcome
    assert trial.measurement is not None
    assert again.measurement is not None
    if outcome == "pruned":
        assert len(trial.measurement.blocks) == PRUNE_ROUNDS
    # The second one found the baseline warm.
    assert again.duration_s < trial.duration_s
    assert again.ratio == pytest.approx(trial.ratio)


def test_nan_is_left_to_the_confirmation_where_it_is_only_recorded(
    device: SimulatedDevice,
) -> None:
    with EvaluationContext(a_request(), FakeBackend(), device, device.clock) as context:
        planted = {}
        for precision in ("float32", "int8"):
            candidate = Candidate("fake", {**QUICK, "precision": precision})
            evaluation = evaluate(context, 0, Proposal(candidate, "test"), lambda _: NO_BAR)
            assert evaluation.output_check is not None, evaluation.trial.detail
            planted[evaluation.trial.tolerance] = evaluation.output_check.planted
    assert planted == {"exact": len(context.tests.planted), "int8": 0}
    assert context.tests.planted


def test_a_brief_check_takes_a_few_runs_without_labels() -> None:
    samples = {
        "inputs/x": np.ones((9, 8), np.float32),
        "labels": np.zeros(9, np.int64),
    }
    large = replace(NETWORK, macs=BRIEF_MACS // 4)
    tests = make_test_set(large, samples, seed=0)
    # A shape of its own for several rows would be compiled again.
    assert [len(case["x"]) for case in tests.cases] == [1] * 9
    brief = brief_test_set(tests, large)
    assert brief.runs == (*tests.cases[:3], tests.extras[0])
    assert brief.labels is None
    small = brief_test_set(tests, NETWORK)
    assert small.cases == tests.cases
    assert small.labels is tests.labels
    largest = replace(NETWORK, macs=BRIEF_MACS)
    assert brief_test_set(tests, largest).runs == tests.cases[:1]


def test_a_brief_check_compares_each_output_with_that_of_its_own_input(
    device: SimulatedDevice,
) -> None:
    device.samples_file = {"inputs/x": np.linspace(-9, 9, 72, dtype=np.float32).reshape(9, 8)}
    request = replace(a_request(), network=replace(NETWORK, macs=BRIEF_MACS // 4))
    device.network = request.network
    candidate = Candidate("fake", QUICK)
    with EvaluationContext(request, FakeBackend(), device, device.clock) as context:
        assert context.has_brief_check
        # Useful, but not leading: it is checked briefly only.
        bar = Bar(useful=1.0, leading=0.0)
        evaluation = evaluate(context, 0, Proposal(candidate, "test"), lambda _: bar)
        checked = evaluation.output_check
        assert checked is not None, evaluation.trial.detail
        assert checked.samples < len(context.tests.cases)
    assert checked.deviation.relative_l2 < 1e-6
    assert checked.random_relative_l2 is not None
    assert checked.random_relative_l2 < 1e-6


def test_a_brief_check_leaves_out_what_runtimes_compile_again() -> None:
    tests = make_test_set(NETWORK, {}, seed=0)
    assert tests.planted
    assert brief_test_set(tests, NETWORK).runs == tests.cases
    bare = replace(tests, extras=(), planted=())
    assert brief_test_set(bare, NETWORK) is bare
