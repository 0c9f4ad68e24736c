"""The state of the search for one operator workload, and the expected gain of more trials."""

from collections.abc import Sequence
from math import inf

from workers.engine.schedules.types import (
    ScheduleBudget,
    ScheduleCandidate,
    ScheduleTask,
    ScheduleTrial,
    TaskHistory,
    Winner,
)

#: Weight of the recent gain against the possible gain, and the rounds counted as recent, as in
#: MetaSchedule's gradient task scheduler.
_ALPHA = 0.2
_WINDOW = 3
#: Factor by which an untried workload is assumed slower than the slowest one, so that none waits
#: long for its first trial.
_PESSIMISM = 4.0


class OperatorState:
    """Trials of a workload, of all searches, and its best-so-far curve.

    Attributes:
        tried: Digests of the schedules that were measured or failed by their own fault.
        is_exhausted: Whether there is nothing left to propose.
        is_changed: Whether this search has added a trial.
    """

    def __init__(self, task: ScheduleTask, history: TaskHistory, budget: ScheduleBudget) -> None:
        self.task = task
        self.winner: Winner | None = history.winner
        self.tried: set[str] = set()
        self.is_exhausted = False
        self.is_changed = False
        self._budget = budget
        self._curve: list[float] = []
        self._since_gain = 0
        self._measured: dict[str, tuple[float, ScheduleCandidate]] = {}
        for trial in history.trials:
            self._append(trial)

    @property
    def best_s(self) -> float:
        """Shortest median of its trials; infinite before the first successful one."""
        return self._curve[-1] if self._curve else inf

    @property
    def charged_trials(self) -> int:
        """Number of charged trials, of all searches."""
        return len(self._curve)

    @property
    def is_settled(self) -> bool:
        """Whether no gain is expected of more trials."""
        return (
            self.is_exhausted
            or self.charged_trials >= self._budget.enough
            or self._since_gain >= self._budget.patience
        )

    def add(self, trial: ScheduleTrial) -> None:
        """Append a trial of this search."""
        self._append(trial)
        self.is_changed = True

    def candidates_to_confirm(self) -> list[ScheduleCandidate]:
        """The best schedules by their first measurement, whose order noise may have changed."""
        ranked = sorted(self._measured.values(), key=lambda entry: entry[0])
        return [candidate for _, candidate in ranked[: self._budget.candidates_to_confirm]]

    def expected_gain_s(self, flops_per_s: float) -> float:
        """Seconds per run of the network that the next round is expected to save.

        The estimate of Ansor (arXiv 2006.06762, section 6) as MetaSchedule computes it: the gain of
        the last rounds and the latency divided by the rounds spent, weighted, times calls. An
        untried workload may save all of its time at ``flops_per_s``.
        """
        if self.is_settled:
            return 0.0
        if self.best_s == inf:
            expected_s = self.task.flops / flops_per_s
            return self.task.calls * expected_s / (1 + self.charged_trials / self._budget.batch)
        batch = self._budget.batch
        back = min(_WINDOW * batch, self.charged_trials - 1)
        before = self._curve[-1 - back]
        backward = (before - self.best_s) / _WINDOW if before < inf else 0.0
        forward = self.best_s / max(1.0, self.charged_trials / batch)
        return self.task.calls * (_ALPHA * backward + (1 - _ALPHA) * forward)

    def _append(self, trial: ScheduleTrial) -> None:
        if trial.result.outcome == "infrastructure":
            return
        candidate, seconds = trial.candidate, trial.result.median_s
        self.tried.add(candidate.digest)
        before = self.best_s
        if trial.result.outcome == "measured" and seconds is not None:
            self._measured[candidate.digest] = (seconds, candidate)
            is_gain = seconds < before * (1 - self._budget.noise)
        else:
            seconds, is_gain = inf, False
        self._curve.append(min(before, seconds))
        self._since_gain = 0 if is_gain else self._since_gain + 1


def most_promising(states: Sequence[OperatorState]) -> OperatorState | None:
    """The workload with the largest expected gain; ``None`` if none is expected."""
    rates = [state.task.flops / state.best_s for state in states if state.best_s < inf]
    slow = min(rates, default=1e9) / _PESSIMISM
    best = max(states, key=lambda state: state.expected_gain_s(slow), default=None)
    return best if best is not None and best.expected_gain_s(slow) > 0 else None
