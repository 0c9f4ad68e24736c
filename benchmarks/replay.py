"""Replays searches on frozen tables, and computes the expected cost of random search exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from benchmarks.tables import Table
from hpcfair.precisions import Tolerance
from workers.engine.strategies import SearchProblem, Strategy
from workers.engine.trials import Experience, Trial
from workers.engine.types import Candidate

#: The two users of the protocol: one requires float32, one accepts any precision.
PROBLEMS: tuple[Tolerance, ...] = ("exact", "int8")


@dataclass(frozen=True, slots=True)
class Run:
    """A replayed search.

    Attributes:
        trials: In order.
        reached: Per problem the trials, and the seconds, up to the first good configuration;
            ``None`` if the budget ended before.
    """

    trials: tuple[Trial, ...]
    reached: dict[Tolerance, tuple[int, float] | None]

    def regret(self, table: Table, tolerance: Tolerance, count: int) -> float:
        """How much slower the best of the first ``count`` trials is than the table's best."""
        accepted = {row.candidate.sha256 for row in table.accepted(tolerance)}
        ratios = [
            t.ratio
            for t in self.trials[:count]
            if t.ratio is not None and t.candidate.sha256 in accepted
        ]
        return min(ratios, default=inf) / table.best(tolerance) - 1


def replay(table: Table, strategy: Strategy, budget: int, fewest: int = 0) -> Run:
    """Run a strategy for ``fewest`` to ``budget`` trials, until every problem is solved."""
    good = {tolerance: table.good(tolerance) for tolerance in PROBLEMS}
    reached: dict[Tolerance, tuple[int, float] | None] = dict.fromkeys(PROBLEMS)
    trials: list[Trial] = []
    seconds = 0.0
    while len(trials) < budget and (len(trials) < fewest or None in reached.values()):
        proposal = strategy.ask()
        if proposal is None:
            break
        trial = table.trial(len(trials), proposal.candidate, proposal.proposed_by)
        strategy.tell(trial)
        trials.append(trial)
        seconds += trial.duration_s
        for tolerance in PROBLEMS:
            if reached[tolerance] is None and trial.candidate.sha256 in good[tolerance]:
                reached[tolerance] = (len(trials), seconds)
    return Run(tuple(trials), reached)


def problem(table: Table, seed: int, experience: Sequence[Experience] = ()) -> SearchProblem:
    """The search problem of a table's network."""
    return SearchProblem(
        spaces=table.spaces,
        seed=seed,
        defaults=table.defaults,
        experience=experience,
        architecture_class=table.architecture_class,
        embedding=table.embedding,
        target=table.target,
        features=frozenset(table.features),
    )


def history(
    tables: Sequence[Table], search: Callable[[SearchProblem], Strategy], seed: int, trials: int
) -> list[Experience]:
    """The hub's experience from searches of these networks: a lower bound on real histories."""
    gathered: list[Experience] = []
    for table in tables:
        run = replay(table, search(problem(table, seed)), trials, fewest=trials)
        gathered += table.experience([trial.candidate for trial in run.trials])
    return gathered


def blind_trials(size: int, good: int) -> float:
    """Expected draws without replacement until the first of ``good`` among ``size``."""
    return (size + 1) / (good + 1)


def first_good(order: Sequence[Candidate], table: Table, tolerance: Tolerance) -> float:
    """Expected trials of a fixed order followed by random draws of the rest."""
    good = table.good(tolerance)
    own = [candidate for candidate in order if candidate.sha256 in table.by_sha256]
    for at, candidate in enumerate(own, 1):
        if candidate.sha256 in good:
            return at
    return len(own) + blind_trials(len(table.rows) - len(own), len(good))
