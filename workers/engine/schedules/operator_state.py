"""What is known of one workload, and what more trials of it promise."""

from collections.abc import Sequence
from math import inf

from workers.engine.schedules.types import (
    Known,
    ScheduleBudget,
    ScheduleCandidate,
    ScheduleTask,
    ScheduleTrial,
    Winner,
)

#: Weight of how a workload did lately against what it may still do, and the rounds looked back,
#: as MetaSchedule's gradient task scheduler has them.
_ALPHA = 0.2
_WINDOW = 3
#: How much slower a workload never tried may be than the slowest found, so that none waits long.
_PESSIMISM = 4.0


class OperatorState:
    """Trials of a workload, of all searches, and their best-so-far curve.

    Attributes:
        tried: Digests of schedules that were tried and failed or measured by their own fault.
        exhausted: There is nothing left to propose.
        changed: A trial of this search is in it.
    """

    def __init__(self, task: ScheduleTask, known: Known, budget: ScheduleBudget) -> None:
        self.task = task
        self.winner: Winner | None = known.winner
        self.tried: set[str] = set()
        self.exhausted = False
        self.changed = False
        self._budget = budget
        self._curve: list[float] = []
        self._stale = 0
        self._measured: dict[str, tuple[float, ScheduleCandidate]] = {}
        for trial in known.trials:
            self._enter(trial)

    @property
    def best_s(self) -> float:
        """Shortest median of its trials; infinite before the first that ran."""
        return self._curve[-1] if self._curve else inf

    @property
    def charged(self) -> int:
        """Trials that count, of all searches."""
        return len(self._curve)

    @property
    def settled(self) -> bool:
        """Whether more trials promise nothing."""
        return (
            self.exhausted
            or self.charged >= self._budget.enough
            or self._stale >= self._budget.patience
        )

    def add(self, trial: ScheduleTrial) -> None:
        """Enter a trial of this search."""
        self._enter(trial)
        self.changed = True

    def candidates_to_confirm(self) -> list[ScheduleCandidate]:
        """The best by their first measurement, which picks wrong winners by noise."""
        ranked = sorted(self._measured.values(), key=lambda entry: entry[0])
        return [candidate for _, candidate in ranked[: self._budget.candidates_to_confirm]]

    def gain(self, flops_per_s: float) -> float:
        """Seconds per run of the network that the next round promises to save.

        The estimate of Ansor (arXiv 2006.06762, section 6) as MetaSchedule computes it: what the
        last rounds brought, and the whole latency over the rounds spent, weighted, times calls.
        A workload never tried could save what it would take at ``flops_per_s``.
        """
        if self.settled:
            return 0.0
        if self.best_s == inf:
            expected = self.task.flops / flops_per_s
            return self.task.calls * expected / (1 + self.charged / self._budget.batch)
        batch = self._budget.batch
        back = min(_WINDOW * batch, self.charged - 1)
        before = self._curve[-1 - back]
        backward = (before - self.best_s) / _WINDOW if before < inf else 0.0
        forward = self.best_s / max(1.0, self.charged / batch)
        return self.task.calls * (_ALPHA * backward + (1 - _ALPHA) * forward)

    def _enter(self, trial: ScheduleTrial) -> None:
        if trial.result.outcome == "infrastructure":
            return
        candidate, seconds = trial.candidate, trial.result.median_s
        self.tried.add(candidate.digest)
        before = self.best_s
        if trial.result.outcome == "measured" and seconds is not None:
            self._measured[candidate.digest] = (seconds, candidate)
            gained = seconds < before * (1 - self._budget.noise)
        else:
            seconds, gained = inf, False
        self._curve.append(min(before, seconds))
        self._stale = 0 if gained else self._stale + 1


def pick(states: Sequence[OperatorState]) -> OperatorState | None:
    """The workload whose next round promises the network most; ``None`` when none does."""
    rates = [state.task.flops / state.best_s for state in states if state.best_s < inf]
    slow = min(rates, default=1e9) / _PESSIMISM
    best = max(states, key=lambda state: state.gain(slow), default=None)
    return best if best is not None and best.gain(slow) > 0 else None
