"""One network, one compiler: which of its passes are worth their time, and in which order.

::

    class      what serves other networks of the class
    promising  what the compiler's backend holds for good
    noise      the compiler's own list written out, beside itself: must not differ
    idle       passes without which the code stays the same (by fingerprint): dropped
    ablation   each other pass left out, each extra one put in: effect on both objectives
    joint      all that had no effect beyond noise left out at once; where that hurts, because
               passes stand in for each other, the culprits are found by delta debugging and stay
    order      two of the passes with an effect swapped, where the compiler allows it
    factorial  those passes and swaps in all combinations, or in a balanced fraction of them
    final      the best of both objectives measured again with more effort

Each step is cut short when the budget is spent; three tenths of it are kept for the last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from hpcfair.measurement.types import Interval
from workers.engine.passes.evaluation import ComparisonEffort, PassEvaluator
from workers.engine.passes.factors import Factor, combinations, drop, insert, swap
from workers.engine.passes.menu import Menu, Passes
from workers.engine.passes.objective import COMPILE_MARGIN, OBJECTIVES, PassTrial
from workers.engine.passes.study_state import StudyState
from workers.engine.ports import Clock

#: Factors beyond this many have more combinations than anybody measures.
MOST_FACTORS = 8
#: Latencies closer than this are the same to anybody, as elsewhere in the engine.
_LATENCY_MARGIN = 0.01
_ROUGH = ComparisonEffort(pairs=4, seconds=2.0, half_width=0.02)
_FINAL = ComparisonEffort(pairs=6, processes=3, seconds=4.0, sessions=3, most_sessions=12)
#: Of each objective, how many are measured again.
_FINALISTS = 2
_ROLES = {"drop": "ablation", "insert": "extra", "swap": "order"}


@dataclass(frozen=True, slots=True)
class StudyBudget:
    """What a study may cost.

    Attributes:
        seconds: After which no further list is tried.
        points: Of the factorial at most.
        screen, final: ComparisonEffort of one comparison before and at the end.
    """

    seconds: float
    points: int = 64
    screen: ComparisonEffort = _ROUGH
    final: ComparisonEffort = _FINAL


@dataclass(frozen=True, slots=True)
class Study:
    """What a study found.

    Attributes:
        survivors: Passes with an effect beyond noise, in the compiler's order.
        dropped: Passes that did nothing for this network.
        winners: The lists that serve an objective, the best of each first, as measured at the end.
        ended: Why it stopped, for people.
    """

    trials: tuple[PassTrial, ...]
    survivors: Passes
    dropped: Passes
    winners: tuple[PassTrial, ...]
    ended: str


def study(
    menu: Menu,
    evaluator: PassEvaluator,
    budget: StudyBudget,
    clock: Clock,
    *,
    served: Sequence[str] = (),
    known: Sequence[PassTrial] = (),
    keep: Callable[[PassTrial], None] = lambda _: None,
) -> Study:
    """Find the lists of passes that serve a network.

    Args:
        served: Lists that serve other networks of the class.
        known: Trials of an interrupted study of the same network; none is made again.
        keep: Told of each trial as it lands.

    Raises:
        CandidateFailed: the compiler's own pipeline cannot build the network.
        InfrastructureFailed: what it built does not run any more.
    """
    state = StudyState(menu, evaluator, budget.seconds, clock, known, keep)
    # The likeliest gains come first: a network that compiles for long has time for little else.
    for value in served:
        state.value("class", value, budget.screen)
    for value in menu.promising:
        state.value("promising", value, budget.screen)
    noise = _Noise.of(state.trial("noise", menu.default, budget.screen))
    rest = menu.without(menu.default, _idle(menu, evaluator, state))
    state.trial("idle", rest, budget.screen)
    changes = [*_drops(menu, rest), *_inserts(menu)]
    single = {
        factor: state.trial(_ROLES[factor.kind], factor.apply(rest), budget.screen, factor.name)
        for factor in changes
    }
    factors = [factor for factor, trial in single.items() if noise.exceeded(trial)]
    quiet = [
        factor.about[0]
        for factor, trial in single.items()
        if factor.kind == "drop" and trial and not noise.exceeded(trial)
    ]
    culprits = _culprits(menu, state, rest, quiet, budget.screen)
    factors += [drop(menu, name) for name in rest if name in culprits]
    base = menu.without(rest, [name for name in quiet if name not in culprits])
    for factor in _swaps(menu, base, [f.about[0] for f in factors if f.kind == "drop"]):
        single[factor] = state.trial("order", factor.apply(base), budget.screen, factor.name)
        if noise.exceeded(single[factor]):
            factors.append(factor)
    _factorial(menu, state, base, factors, single, budget)
    winners = _final(state, budget)
    return Study(
        trials=tuple(state.trials),
        survivors=tuple(name for name in base if any(name in f.about for f in factors)),
        dropped=tuple(name for name in menu.default if name not in base),
        winners=winners,
        ended=state.ended(),
    )


def _idle(menu: Menu, evaluator: PassEvaluator, state: StudyState) -> list[str]:
    """Passes that can go all at once without changing the code.

    Groups that change nothing go whole and others are halved, so few builds tell of many passes.
    """

    def prints(groups: Sequence[Sequence[str]]) -> list[str]:
        lists = [menu.without(menu.default, group) for group in groups]
        return evaluator.fingerprints([menu.value(passes) for passes in lists])

    groups = [[name for name in menu.default if name not in menu.needed]]
    own, *told = prints([[], *groups])
    idle: list[list[str]] = []
    while own and groups and not state.spent:
        told = told or prints(groups)
        idle += [group for group, code in zip(groups, told, strict=True) if code == own]
        others = [group for group, code in zip(groups, told, strict=True) if code != own]
        middles = [(group, len(group) // 2) for group in others if len(group) > 1]
        groups = [half for group, at in middles for half in (group[:at], group[at:])]
        told = []
    together = [name for group in idle for name in group]
    if not together or prints([together]) == [own]:
        return together
    # Some stand in for each other: those go that still can.
    gone: list[str] = []
    while idle and not state.spent:
        group, *idle = idle
        if prints([[*gone, *group]]) == [own]:
            gone += group
        elif len(group) > 1:
            middle = len(group) // 2
            idle = [group[:middle], group[middle:], *idle]
    return gone


def _drops(menu: Menu, passes: Passes) -> list[Factor]:
    return [drop(menu, name) for name in passes if name not in menu.needed]


def _inserts(menu: Menu) -> list[Factor]:
    return [insert(menu, name) for name in menu.extras()]


def _swaps(menu: Menu, passes: Passes, survivors: Sequence[str]) -> list[Factor]:
    """Legal swaps of two survivors, neighbours first."""
    if not menu.ordered:
        return []
    names = [name for name in passes if name in survivors]
    pairs = [(b - a, names[a], names[b]) for b in range(len(names)) for a in range(b)]
    found = [swap(first, second) for _, first, second in sorted(pairs, key=lambda pair: pair[0])]
    return [factor for factor in found if menu.legal(factor.apply(passes))]


def _culprits(
    menu: Menu, state: StudyState, rest: Passes, quiet: Sequence[str], effort: ComparisonEffort
) -> set[str]:
    """Of passes that each can go alone, those that cannot go together.

    Delta debugging as in Zeller, "Yesterday, my program worked. Today, it does not. Why?" (ESEC
    1999), section 4; repeated until what is left can go.
    """

    def bad(gone: Sequence[str]) -> bool:
        trial = state.trial("joint", menu.without(rest, gone), effort) if gone else None
        return trial is not None and trial.comparison.hurts

    def narrow(suspects: list[str], also: list[str]) -> set[str]:
        if len(suspects) == 1:
            return set(suspects)
        left, right = suspects[: len(suspects) // 2], suspects[len(suspects) // 2 :]
        if bad([*left, *also]):
            return narrow(left, also)
        if bad([*right, *also]):
            return narrow(right, also)
        return narrow(left, [*right, *also]) | narrow(right, [*left, *also])

    found: set[str] = set()
    while bad(gone := [name for name in quiet if name not in found]) and not state.spent:
        found |= narrow(gone, [])
    return found


def _factorial(
    menu: Menu,
    state: StudyState,
    base: Passes,
    factors: Sequence[Factor],
    single: dict[Factor, PassTrial | None],
    budget: StudyBudget,
) -> None:
    """Try combinations, those first that should do well if effects simply multiplied."""
    logs = {factor: _logs(single.get(factor)) for factor in factors}
    # What made compiling fail alone will not do better in company.
    able = [f for f in factors if (trial := single.get(f)) is None or trial.comparison.latency]
    chosen = sorted(able, key=lambda f: -max(map(abs, logs[f])))[:MOST_FACTORS]

    def promise(combination: Sequence[Factor]) -> tuple[bool, float]:
        compiling = sum(logs[factor][0] for factor in combination)
        running = sum(logs[factor][1] for factor in combination)
        return running > log(1.05), compiling + running

    for combination in sorted(combinations(chosen, budget.points), key=promise):
        passes = base
        # Swaps first: what is dropped afterwards leaves the others where they are.
        for factor in sorted(combination, key=lambda f: f.kind, reverse=True):
            passes = factor.apply(passes)
        if menu.legal(passes):
            state.trial("factorial", passes, budget.screen)


def _final(state: StudyState, budget: StudyBudget) -> tuple[PassTrial, ...]:
    """The best of each objective measured again, since the best of many noisy figures flatter."""
    winners: dict[str, PassTrial] = {}
    for objective in OBJECTIVES:
        ranked = sorted(
            (trial for trial in state.trials if trial.comparison.score(objective) < 1),
            key=lambda trial: trial.comparison.score(objective),
        )
        finals = [state.final(trial.passes, budget.final) for trial in ranked[:_FINALISTS]]
        able = [t for t in finals if t is not None and t.comparison.score(objective) < 1]
        best = min(able, key=lambda trial: trial.comparison.score(objective), default=None)
        if best is not None:
            winners.setdefault(best.passes, best)
    return tuple(winners.values())


@dataclass(frozen=True, slots=True)
class _Noise:
    """How far ratios of equal things stray here, at least as far as nobody cares."""

    compile: float = COMPILE_MARGIN
    latency: float = _LATENCY_MARGIN

    @classmethod
    def of(cls, trial: PassTrial | None) -> "_Noise":
        """What the compiler's own list beside itself shows."""
        compiling = trial.comparison.compile if trial else None
        running = trial.comparison.latency if trial else None
        if compiling is None or running is None:
            return cls()
        return cls(
            max(COMPILE_MARGIN, abs(compiling.value - 1)),
            max(_LATENCY_MARGIN, abs(running.value - 1)),
        )

    def exceeded(self, trial: PassTrial | None) -> bool:
        """Whether a change did anything beyond noise; a failure certainly did."""
        if trial is None:
            return False
        found = trial.comparison
        if found.latency is None or found.compile is None:
            return True
        return _off(found.latency, self.latency) or _off(found.compile, self.compile)


def _off(ratio: Interval, margin: float) -> bool:
    return ratio.high < 1 - margin or ratio.low > 1 + margin


def _logs(trial: PassTrial | None) -> tuple[float, float]:
    """Logarithms of a change's effects on compiling and running; nothing known is no effect."""
    if trial is None or trial.comparison.compile is None or trial.comparison.latency is None:
        return 0.0, 0.0
    return log(trial.comparison.compile.value), log(trial.comparison.latency.value)
