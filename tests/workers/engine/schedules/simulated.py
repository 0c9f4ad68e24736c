"""A compiler of schedules that is a formula: one decision, and its distance from the best."""

from collections.abc import Iterator, Sequence
from typing import Any

from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
)

#: The decision that is fastest, of 0 to 99.
BEST = 70


def task(name: str, *, calls: int = 1, flops: float = 1e6) -> ScheduleTask:
    key = name.encode().hex().ljust(64, "0")
    return ScheduleTask(key, name, "conv2d", (), flops, calls, (flops,), b"")


class Clockwork:
    """Time that passes only where work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Simulated:
    """Proposes decisions in an order of its own; predicts what it was told nearest.

    Attributes:
        spoil: How many of the next trials the machine spoils.
        broken: Decisions whose code crashes.
        measured: Task and decision of each measurement, in order.
        knew: Decisions known of a task when each candidate was predicted.
        foreseen: Tasks it was to think ahead of, and how much had been measured by then.
    """

    def __init__(self, clock: Clockwork | None = None, *, shuffle: int = 37) -> None:
        self.clock = clock or Clockwork()
        self.spoil = 0
        self.broken: set[int] = set()
        self.measured: list[tuple[str, int]] = []
        self.learned: dict[str, dict[int, float]] = {}
        self.knew: list[tuple[int, frozenset[int]]] = []
        self.foreseen: list[tuple[str, int]] = []
        self._shuffle = shuffle
        self._asked: dict[str, int] = {}

    def seconds(self, of: ScheduleTask, decision: int) -> float:
        """True time of a call."""
        return of.flops / 1e9 * (1 + abs(decision - BEST) / 20)

    def learn(self, of: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        known = self.learned.setdefault(of.key, {})
        for trial in trials:
            if trial.result.median_s is not None:
                known[trial.candidate.decisions] = trial.result.median_s

    def foresee(self, of: ScheduleTask, most: int) -> None:  # noqa: ARG002
        self.foreseen.append((of.name, len(self.measured)))

    def propose(self, of: ScheduleTask, most: int) -> list[ScheduleCandidate]:
        start = self._asked.get(of.key, 0)
        self._asked[of.key] = start + most
        order = [(self._shuffle * n) % 100 for n in range(100)]
        return [self._candidate(of, d, "evolution") for d in order[start : start + most]]

    def neighbours(
        self, of: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> list[ScheduleCandidate]:
        here = best.decisions
        around = [here + step for step in (1, -1, 2, -2, 5, -5) if 0 <= here + step < 100]
        return [self._candidate(of, d, "descent") for d in around[:most]]

    def measure(
        self, of: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        for candidate in candidates:
            self.clock.sleep(0.5)
            if self.spoil:
                self.spoil -= 1
                yield ScheduleOutcome("infrastructure", (), 0.5, "no memory")
                continue
            self.measured.append((of.name, candidate.decisions))
            if candidate.decisions in self.broken:
                yield ScheduleOutcome("crash", (), 0.5, "crashed with SIGSEGV")
                continue
            seconds = self.seconds(of, candidate.decisions)
            yield ScheduleOutcome("measured", (seconds,) * 3, 0.5)

    def race(
        self, of: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> list[tuple[float, ...]]:
        return [(self.seconds(of, c.decisions),) * rounds for c in candidates]

    def trace(self, of: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        return [of.name, candidate.decisions]

    def _candidate(self, of: ScheduleTask, decision: int, by: str) -> ScheduleCandidate:
        known = self.learned.get(of.key, {})
        self.knew.append((decision, frozenset(known)))
        nearest = min(known, key=lambda d: abs(d - decision), default=None)
        predicted = None if nearest is None else 1 / known[nearest]
        return ScheduleCandidate(of.key, [["Sample"]], decision, by, predicted)
