"""Which passes of one compiler are worth their time on one network, and in which order.

::

    class      lists that serve other networks of the class
    promising  lists that the compiler's backend recommends
    noise      the compiler's own list against itself: must not differ
    idle       passes without which the code is the same (by fingerprint) are left out
    ablation   each other pass left out, each extra one inserted: effect on both objectives
    joint      all passes without an effect beyond noise left out together; if that hurts, because
               passes replace each other, delta debugging finds those that must stay
    order      two passes with an effect swapped, if the compiler allows it
    factorial  those passes and swaps in all combinations, or in a balanced fraction of them
    final      the best lists of both objectives confirmed with more effort

Each step ends early when the budget is used up; three tenths of it are reserved for the last one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from hpcfair.measurement.ratio import MARGIN
from hpcfair.measurement.types import Interval
from workers.engine.clock import Clock
from workers.engine.passes.elimination import idle_passes, interacting_passes
from workers.engine.passes.evaluation import ComparisonEffort, PassEvaluator
from workers.engine.passes.factors import Factor, combinations, drop, insert, swap
from workers.engine.passes.menu import Menu, Passes
from workers.engine.passes.objective import COMPILE_MARGIN, OBJECTIVES, PassTrial
from workers.engine.passes.study_state import StudyState

#: More factors have more combinations than can be measured.
MOST_FACTORS = 8
_ROUGH = ComparisonEffort(pairs=4, seconds=2.0, half_width=0.02)
_FINAL = ComparisonEffort(pairs=6, processes=3, seconds=4.0, sessions=3, most_sessions=12)
#: Lists to confirm for each objective.
_LISTS_TO_CONFIRM = 2
_ROLES = {"drop": "ablation", "insert": "extra", "swap": "order"}


@dataclass(frozen=True, slots=True)
class StudyBudget:
    """Bounds on a study.

    Attributes:
        seconds: After which no further list is tried.
        points: Most combinations of the factorial.
        screen, final: Effort of one comparison in the study and in the confirmation.
    """

    seconds: float
    points: int = 64
    screen: ComparisonEffort = _ROUGH
    final: ComparisonEffort = _FINAL


@dataclass(frozen=True, slots=True)
class Study:
    """The result of a study.

    Attributes:
        survivors: Passes with an effect beyond noise, in the compiler's order.
        dropped: Passes without an effect on this network.
        winners: The confirmed lists that serve an objective, the best of each objective first.
        stop_reason: Why it stopped, as readable text.
    """

    trials: tuple[PassTrial, ...]
    survivors: Passes
    dropped: Passes
    winners: tuple[PassTrial, ...]
    stop_reason: str


def study(
    menu: Menu,
    evaluator: PassEvaluator,
    budget: StudyBudget,
    clock: Clock,
    *,
    class_lists: Sequence[str] = (),
    prior_trials: Sequence[PassTrial] = (),
    on_trial: Callable[[PassTrial], None] = lambda _: None,
) -> Study:
    """Find the lists of passes that serve a network.

    Args:
        class_lists: Lists that serve other networks of the class.
        prior_trials: Trials of an interrupted study of the same network; not repeated.
        on_trial: Called with each new trial.

    Raises CandidateFailed if the compiler's own pipeline cannot build the network,
    InfrastructureFailed if that build does not run any more.
    """
    state = StudyState(menu, evaluator, budget.seconds, clock, prior_trials, on_trial)
    # The likeliest gains come first: a network that compiles for long leaves time for little else.
    for value in class_lists:
        state.try_value("class", value, budget.screen)
    for value in menu.promising:
        state.try_value("promising", value, budget.screen)
    noise = _Noise.of(state.try_passes("noise", menu.default, budget.screen))
    rest = menu.without(menu.default, idle_passes(menu, evaluator, state))
    state.try_passes("idle", rest, budget.screen)
    single = {
        factor: state.try_passes(
            _ROLES[factor.kind], factor.apply(rest), budget.screen, factor.name
        )
        for factor in [*_drops(menu, rest), *_inserts(menu)]
    }
    factors = [factor for factor, trial in single.items() if noise.is_exceeded_by(trial)]
    removable = [
        factor.about[0]
        for factor, trial in single.items()
        if factor.kind == "drop" and trial and not noise.is_exceeded_by(trial)
    ]
    interacting = interacting_passes(menu, state, rest, removable, budget.screen)
    factors += [drop(menu, name) for name in rest if name in interacting]
    base = menu.without(rest, [name for name in removable if name not in interacting])
    for factor in _swaps(menu, base, [f.about[0] for f in factors if f.kind == "drop"]):
        single[factor] = state.try_passes("order", factor.apply(base), budget.screen, factor.name)
        if noise.is_exceeded_by(single[factor]):
            factors.append(factor)
    _factorial(menu, state, base, factors, single, budget)
    return Study(
        winners=_confirmed_winners(state, budget),
        trials=tuple(state.trials),
        survivors=tuple(name for name in base if any(name in f.about for f in factors)),
        dropped=tuple(name for name in menu.default if name not in base),
        stop_reason=state.stop_reason(),
    )


def _drops(menu: Menu, passes: Passes) -> list[Factor]:
    return [drop(menu, name) for name in passes if name not in menu.needed]


def _inserts(menu: Menu) -> list[Factor]:
    return [insert(menu, name) for name in menu.extras()]


def _swaps(menu: Menu, passes: Passes, survivors: Sequence[str]) -> list[Factor]:
    if not menu.ordered:
        return []
    names = [name for name in passes if name in survivors]
    pairs = [(b - a, names[a], names[b]) for b in range(len(names)) for a in range(b)]
    swaps = [swap(first, second) for _, first, second in sorted(pairs, key=lambda pair: pair[0])]
    return [factor for factor in swaps if menu.legal(factor.apply(passes))]


def _factorial(
    menu: Menu,
    state: StudyState,
    base: Passes,
    factors: Sequence[Factor],
    single: dict[Factor, PassTrial | None],
    budget: StudyBudget,
) -> None:
    """Try combinations of factors, in the order of the product of their single effects."""
    logs = {factor: _logs(single.get(factor)) for factor in factors}
    # A factor that fails alone is left out of all combinations.
    working = [
        factor
        for factor in factors
        if (trial := single.get(factor)) is None or trial.comparison.latency
    ]
    chosen = sorted(working, key=lambda factor: -max(map(abs, logs[factor])))[:MOST_FACTORS]

    def expected(combination: Sequence[Factor]) -> tuple[bool, float]:
        compiling = sum(logs[factor][0] for factor in combination)
        running = sum(logs[factor][1] for factor in combination)
        return running > log(1.05), compiling + running

    for combination in sorted(combinations(chosen, budget.points), key=expected):
        passes = base
        # Swaps first: a pass that is dropped afterwards leaves the others in place.
        for factor in sorted(combination, key=lambda factor: factor.kind, reverse=True):
            passes = factor.apply(passes)
        if menu.legal(passes):
            state.try_passes("factorial", passes, budget.screen)


def _confirmed_winners(state: StudyState, budget: StudyBudget) -> tuple[PassTrial, ...]:
    """The best list of each objective after confirmation: the best of many noisy ratios is too
    optimistic."""
    winners: dict[str, PassTrial] = {}
    for objective in OBJECTIVES:
        ranked = sorted(
            (trial for trial in state.trials if trial.comparison.score(objective) < 1),
            key=lambda trial: trial.comparison.score(objective),
        )
        trials = [state.confirm(trial.passes, budget.final) for trial in ranked[:_LISTS_TO_CONFIRM]]
        confirmed = [t for t in trials if t is not None and t.comparison.score(objective) < 1]
        best = min(confirmed, key=lambda trial: trial.comparison.score(objective), default=None)
        if best is not None:
            winners.setdefault(best.passes, best)
    return tuple(winners.values())


@dataclass(frozen=True, slots=True)
class _Noise:
    """Relative deviation of ratios of equal lists, at least the smallest difference that counts."""

    compile: float = COMPILE_MARGIN
    latency: float = MARGIN

    @classmethod
    def of(cls, trial: PassTrial | None) -> "_Noise":
        """The noise in a comparison of the compiler's own list with itself."""
        compiling = trial.comparison.compile if trial else None
        running = trial.comparison.latency if trial else None
        if compiling is None or running is None:
            return cls()
        return cls(
            max(COMPILE_MARGIN, abs(compiling.value - 1)), max(MARGIN, abs(running.value - 1))
        )

    def is_exceeded_by(self, trial: PassTrial | None) -> bool:
        """Whether a change had an effect beyond noise; a failure has one."""
        if trial is None:
            return False
        latency, compiling = trial.comparison.latency, trial.comparison.compile
        if latency is None or compiling is None:
            return True
        return _excludes_one(latency, self.latency) or _excludes_one(compiling, self.compile)


def _excludes_one(ratio: Interval, margin: float) -> bool:
    return ratio.high < 1 - margin or ratio.low > 1 + margin


def _logs(trial: PassTrial | None) -> tuple[float, float]:
    """Logarithms of a change's effects on compiling and running; 0 if unknown."""
    if trial is None or trial.comparison.compile is None or trial.comparison.latency is None:
        return 0.0, 0.0
    return log(trial.comparison.compile.value), log(trial.comparison.latency.value)
