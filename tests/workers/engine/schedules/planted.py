"""A compiler whose code is as fast as a formula of the decisions says, with noise on top."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.workers.engine.schedules.simulated import Clockwork
from workers.engine.schedules.ablation import Reversal, ScheduleAblation
from workers.engine.schedules.crossapplication import CrossApplication
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    Winner,
)


def candidate(task: ScheduleTask, *decisions: Any) -> ScheduleCandidate:
    return ScheduleCandidate(
        task.key, [["Sample"]], [[n, value] for n, value in enumerate(decisions)], "evolution"
    )


def reverted(best: ScheduleCandidate, position: int, value: Any) -> Reversal:
    decisions = [list(decision) for decision in best.decisions]
    decisions[position][1] = value
    changed = ScheduleCandidate(best.task, best.sketch, decisions, "ablation")
    return Reversal(position, value, "planted", changed)


class Planted:
    """``cost`` gives the seconds of a list of decisions, or the failure class of its build.

    ``noise`` is the relative standard deviation of a time; ``drift`` slows every time down by this
    share of the first, as a machine does that others begin to use.
    """

    def __init__(
        self,
        cost: Callable[[list[Any]], float | str],
        *,
        noise: float = 0.0,
        drift: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.clock = Clockwork()
        self.built: list[list[Any]] = []
        self.raced = 0
        self._cost, self._noise, self._drift = cost, noise, drift
        self._rng = random.Random(seed)  # noqa: S311
        self._runs = 0

    def learn(self, of: ScheduleTask, trials: Sequence[Any]) -> None:
        raise NotImplementedError

    foresee = propose = neighbours = learn

    def measure(
        self,
        of: ScheduleTask,  # noqa: ARG002
        candidates: Sequence[ScheduleCandidate],
    ) -> Iterator[ScheduleOutcome]:
        for each in candidates:
            decided = [value for _, value in each.decisions]
            self.built.append(decided)
            cost = self._cost(decided)
            self.clock.sleep(1.0)
            if isinstance(cost, str):
                yield ScheduleOutcome(cost, (), 1.0, "as planted")  # type: ignore[arg-type]
            else:
                yield ScheduleOutcome("measured", (self._time(cost),) * 3, 1.0)

    def race(
        self,
        of: ScheduleTask,  # noqa: ARG002
        candidates: Sequence[ScheduleCandidate],
        rounds: int,
    ) -> list[tuple[float, ...]]:
        self.raced += 1
        costs = [self._cost([value for _, value in each.decisions]) for each in candidates]
        if any(isinstance(cost, str) for cost in costs):
            return [()] * len(candidates)
        times: list[list[float]] = [[] for _ in candidates]
        for turn in range(rounds):
            order = range(len(candidates)) if turn % 2 == 0 else reversed(range(len(candidates)))
            for number in order:
                times[number].append(self._time(float(costs[number])))
        return [tuple(each) for each in times]

    def trace(self, of: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        return [of.name, candidate.decisions]

    def _time(self, cost: float) -> float:
        self._runs += 1
        return cost * (1 + self._drift * self._runs) * self._rng.lognormvariate(0, self._noise)


class Kept:
    """A store in memory."""

    def __init__(self) -> None:
        self.ablations: list[ScheduleAblation] = []
        self.applications: list[CrossApplication] = []
        self.offered: list[ScheduleCandidate] = []
        self.winners: list[Winner] = []

    def measured(self) -> Sequence[ScheduleAblation]:
        return tuple(self.ablations)

    def add(self, ablation: ScheduleAblation) -> None:
        self.ablations.append(ablation)

    def applied(self) -> Sequence[CrossApplication]:
        return tuple(self.applications)

    def add_application(self, application: CrossApplication) -> None:
        self.applications.append(application)

    def offer(self, candidate: ScheduleCandidate, outcome: ScheduleOutcome) -> None:
        assert outcome.outcome == "measured"
        self.offered.append(candidate)

    def confirm(self, winner: Winner) -> None:
        self.winners.append(winner)
