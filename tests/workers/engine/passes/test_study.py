"""Studies on a simulated compiler whose passes have planted effects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from hpcfair.measurement.ratio import ratio_interval
from hpcfair.measurement.types import Block
from workers.engine.errors import InfrastructureFailed
from workers.engine.passes.evaluation import ComparisonEffort
from workers.engine.passes.menu import DEFAULT, Menu
from workers.engine.passes.objective import PassComparison, PassTrial
from workers.engine.passes.study import Study, StudyBudget, study
from workers.engine.types import sha256_of
from workers.testing.simulation import VirtualClock

NAMES = tuple(f"Pass{letter}" for letter in "ABCDEFGHIJKL")
MENU = Menu(options={"x": 1}, default=NAMES)
QUICK = ComparisonEffort(pairs=8)


@dataclass
class Simulated:
    """A :class:`~workers.engine.passes.evaluation.PassEvaluator` with true times of its own.

    Attributes:
        compiles, runs: Seconds that a list takes; ``None`` of a run says that it fails.
        idle: Passes that change no code, where code can be told apart.
    """

    clock: VirtualClock
    compiles: Callable[[tuple[str, ...]], float]
    runs: Callable[[tuple[str, ...]], float | None]
    noise: float = 0.004
    idle: frozenset[str] = frozenset()
    compared: list[str] = field(default_factory=list)
    broken: bool = False

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(5)

    def fingerprints(self, values: Sequence[str]) -> list[str]:
        if not self.idle:
            return [""] * len(values)
        return [sha256_of([n for n in self._list(v) if n not in self.idle]) for v in values]

    def compare(
        self,
        value: str,
        effort: ComparisonEffort,  # noqa: ARG002
        against: str = DEFAULT,
    ) -> PassComparison:
        self.clock.sleep(1)
        self.compared.append(value)
        if self.broken:
            raise InfrastructureFailed("the compiler is gone")
        ours, theirs = self._list(value), self._list(against)
        running, other = self.runs(ours), self.runs(theirs)
        if running is None or other is None:
            return PassComparison("invalid", "Conv: cannot be lowered")
        same = self.fingerprints([value, against])
        return PassComparison(
            "measured",
            compile=ratio_interval(self._blocks(self.compiles(theirs), self.compiles(ours))),
            latency=ratio_interval(self._blocks(other, running)),
            same_code=bool(same[0]) and same[0] == same[1],
            compile_s=self.compiles(ours),
        )

    def _list(self, value: str) -> tuple[str, ...]:
        if value == DEFAULT:
            return NAMES
        return () if value == "none" else tuple(value.split(","))

    def _blocks(self, other: float, ours: float) -> list[Block]:
        def draw(seconds: float) -> tuple[int, ...]:
            factors = np.exp(self.rng.normal(0, self.noise, 3))
            return tuple(round(seconds * 1e9 * factor) for factor in factors)

        return [Block(0, draw(other), draw(ours)) for _ in range(10)]


def seconds(each: dict[str, float], base: float = 1.0) -> Callable[[tuple[str, ...]], float]:
    """A time that grows by what each pass of a list adds."""
    return lambda passes: base + sum(each.get(name, 0.0) for name in passes)


def run(evaluator: Simulated, menu: Menu = MENU, budget: float = 1e6, **options: object) -> Study:
    return study(
        menu, evaluator, StudyBudget(budget, screen=QUICK, final=QUICK), evaluator.clock, **options
    )  # type: ignore[arg-type]


def names(trial: PassTrial) -> set[str]:
    return set(trial.passes.split(",")) - {"none"}


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_it_finds_exactly_what_was_planted(clock: VirtualClock) -> None:
    # A makes code faster, D slower; C only costs time.
    evaluator = Simulated(
        clock, seconds({"PassA": 0.1, "PassC": 0.8}), seconds({"PassA": -0.4, "PassD": 0.2})
    )
    found = run(evaluator)
    assert set(found.survivors) == {"PassA", "PassC", "PassD"}
    assert set(found.dropped) == set(NAMES) - {"PassA", "PassC", "PassD"}
    fastest = min(found.winners, key=lambda trial: trial.comparison.score("latency"))
    assert names(fastest) & {"PassA", "PassD"} == {"PassA"}
    quickest = min(found.winners, key=lambda trial: trial.comparison.score("compile"))
    assert "PassC" not in names(quickest)
    assert "PassA" in names(quickest)


def test_where_nothing_matters_nothing_wins(clock: VirtualClock) -> None:
    found = run(Simulated(clock, lambda _: 1.0, lambda _: 1.0))
    assert found.survivors == ()
    assert found.winners == ()


def test_passes_that_stand_in_for_each_other_are_not_both_dropped(clock: VirtualClock) -> None:
    evaluator = Simulated(
        clock,
        seconds({"PassB": 0.3, "PassK": 0.3}),
        lambda passes: 1.0 if {"PassB", "PassK"} & set(passes) else 2.0,
    )
    # Neither costs enough to be noticed alone: both look idle until both are gone.
    evaluator.compiles = seconds({"PassB": 0.005, "PassK": 0.005, "PassC": 0.5})
    found = run(evaluator)
    assert {"PassB", "PassK"} <= set(found.survivors)
    assert found.winners
    assert all(names(trial) & {"PassB", "PassK"} for trial in found.winners)


def test_the_factorial_finds_what_only_a_combination_gains(clock: VirtualClock) -> None:
    # Each of A and D alone costs a little; without both the code is much faster.
    def running(passes: tuple[str, ...]) -> float:
        left = {"PassA", "PassD"} & set(passes)
        return {2: 1.0, 1: 1.1, 0: 0.6}[len(left)]

    found = run(Simulated(clock, lambda _: 1.0, running))
    assert names(found.winners[0]).isdisjoint({"PassA", "PassD"})
    assert found.winners[0].comparison.cuts_latency


def test_code_that_stays_the_same_is_not_measured(clock: VirtualClock) -> None:
    idle = frozenset(NAMES) - {"PassB", "PassG"}
    evaluator = Simulated(
        clock,
        seconds(dict.fromkeys(idle, 0.05)),
        seconds({"PassB": -0.3, "PassG": -0.2}),
        idle=idle,
    )
    found = run(evaluator)
    assert set(found.dropped) == idle
    assert names(found.winners[0]) == {"PassB", "PassG"}
    assert found.winners[0].comparison.compile is not None
    assert found.winners[0].comparison.compile.value == pytest.approx(1 / 1.5, rel=0.02)
    assert sum(trial.role == "ablation" for trial in found.trials) == 2


def test_code_tells_of_passes_that_stand_in_for_each_other(clock: VirtualClock) -> None:
    pair = {"PassB", "PassK"}
    evaluator = Simulated(
        clock,
        seconds(dict.fromkeys(NAMES, 0.1)),
        lambda passes: 1.0 if pair & set(passes) else 2.0,
    )

    def prints(values: Sequence[str]) -> list[str]:
        return ["same" if pair & set(value.split(",")) else "other" for value in values]

    evaluator.fingerprints = prints  # type: ignore[method-assign]
    found = run(evaluator)
    # One of the two is enough; all others do nothing.
    assert len(set(found.dropped) & pair) == 1
    assert len(found.dropped) == len(NAMES) - 1
    assert {len(names(trial) & pair) for trial in found.winners} == {1}


def test_what_cannot_be_left_out_stays(clock: VirtualClock) -> None:
    evaluator = Simulated(
        clock,
        seconds({"PassA": 0.5, "PassL": 0.5}),
        lambda passes: 1.0 if "PassA" in passes else None,
    )
    found = run(evaluator)
    assert all("PassA" in names(trial) for trial in found.winners)
    assert any("PassL" not in names(trial) for trial in found.winners)
    failed = [trial for trial in found.trials if trial.comparison.outcome == "invalid"]
    assert {trial.about for trial in failed} == {"drop PassA"}


def test_an_order_that_pays_is_found_where_order_means_anything(clock: VirtualClock) -> None:
    def compiling(passes: tuple[str, ...]) -> float:
        at = {name: place for place, name in enumerate(passes)}
        return 0.5 if at.get("PassD", 99) < at.get("PassB", -1) else 1.0

    runs = seconds({"PassB": -0.2, "PassD": -0.2})
    assert not run(Simulated(clock, compiling, runs)).winners
    ordered = Menu(options={}, default=NAMES, ordered=True)
    found = run(Simulated(clock, compiling, runs), ordered)
    best = found.winners[0].passes.split(",")
    assert best.index("PassD") < best.index("PassB")
    law = Menu({}, NAMES, legal=lambda p: list(p) == sorted(p), ordered=True)
    assert not run(Simulated(clock, compiling, runs), law).winners


def test_an_extra_pass_that_pays_is_put_in(clock: VirtualClock) -> None:
    menu = Menu(options={}, default=NAMES, full=(*NAMES[:3], "Extra", "Useless", *NAMES[3:]))
    found = run(Simulated(clock, lambda _: 1.0, seconds({"Extra": -0.3})), menu)
    best = found.winners[0].passes.split(",")
    assert best[best.index("Extra") - 1 :][:2] == ["PassC", "Extra"] or "PassC" not in best
    assert "Useless" not in best


def test_it_ends_with_its_time_and_measures_the_best_again(clock: VirtualClock) -> None:
    costs = {name: 0.1 * n for n, name in enumerate(NAMES)}
    evaluator = Simulated(clock, seconds(costs), seconds({"PassA": -0.1}))
    found = run(evaluator, budget=20)
    assert clock.now_s <= 22
    assert "20 s used" in found.stop_reason
    assert any(trial.role == "final" for trial in found.trials)


def test_a_study_taken_up_again_repeats_nothing(clock: VirtualClock) -> None:
    evaluator = Simulated(clock, seconds({"PassC": 0.8}), lambda _: 1.0)
    kept: list[PassTrial] = []
    first = run(evaluator, on_trial=kept.append)
    assert tuple(kept) == first.trials
    evaluator.compared.clear()
    again = run(evaluator, prior_trials=kept)
    assert evaluator.compared == []
    assert again.winners == first.winners
    assert [trial.number for trial in again.trials] == list(range(len(kept)))


def test_a_rig_that_breaks_ends_it(clock: VirtualClock) -> None:
    with pytest.raises(InfrastructureFailed):
        run(Simulated(clock, lambda _: 1.0, lambda _: 1.0, broken=True))


def test_what_serves_the_class_comes_first_then_what_the_backend_holds_for_good(
    clock: VirtualClock,
) -> None:
    evaluator = Simulated(clock, seconds({"PassC": 0.8}), lambda _: 1.0)
    menu = replace(MENU, promising=("PassA,PassC",))
    found = run(evaluator, menu, budget=4, class_lists=("PassA,PassB",))
    assert evaluator.compared[:3] == ["PassA,PassB", "PassA,PassC", ",".join(NAMES)]
    assert [trial.passes for trial in found.winners] == ["PassA,PassB"]
