"""The loop of a search for schedules: which workload gets the next trials, which schedule wins."""

from collections.abc import Sequence
from statistics import median

from workers.engine.clock import Clock, SystemClock
from workers.engine.errors import InfrastructureFailed
from workers.engine.ports import PhaseTime, Progress, no_progress
from workers.engine.schedules.operator_state import OperatorState, most_promising
from workers.engine.schedules.ports import ScheduleCompiler, ScheduleStore
from workers.engine.schedules.types import (
    ScheduleBudget,
    ScheduleCandidate,
    ScheduleResult,
    ScheduleTask,
    ScheduleTrial,
    Winner,
)

#: Consecutive infrastructure failures after which the machine is given up, and after which one
#: candidate is.
_MOST_INFRASTRUCTURE_FAILURES = 3
#: Neighbours measured per step of the descent.
_STEP = 6


def tune_schedules(
    tasks: Sequence[ScheduleTask],
    compiler: ScheduleCompiler,
    store: ScheduleStore,
    budget: ScheduleBudget,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> ScheduleResult:
    """Search schedules for the workloads of a network.

    The compiler learns the store's trials of a workload, which are not repeated: a settled workload
    costs no trial. Infrastructure failures are stored, not charged, and repeated.

    Raises:
        InfrastructureFailed: several trials in a row failed by the machine's fault.
        CandidateFailed: the compiler itself failed.
        LeaseLost, Cancelled: from ``store`` or ``progress``.
    """
    search = _Search(tasks, compiler, store, budget, clock or SystemClock(), progress)
    stop_reason = search.explore()
    search.descend()
    improved = search.confirm()
    winners = {state.task.key: state.winner for state in search.states if state.winner is not None}
    return ScheduleResult(winners, improved, search.charged_trials, stop_reason)


class _Search:
    """A search in progress; ``charged_trials`` includes those of earlier attempts."""

    def __init__(
        self,
        tasks: Sequence[ScheduleTask],
        compiler: ScheduleCompiler,
        store: ScheduleStore,
        budget: ScheduleBudget,
        clock: Clock,
        progress: Progress,
    ) -> None:
        self._compiler, self._store, self._budget = compiler, store, budget
        self._clock, self._progress = clock, progress
        self.states = [OperatorState(task, store.history(task), budget) for task in tasks]
        own_trials = store.own_trials()
        self.charged_trials = sum(t.result.outcome != "infrastructure" for t in own_trials)
        self._number = max((trial.number for trial in own_trials), default=-1) + 1
        self._earlier_s = sum(trial.result.duration_s for trial in own_trials)
        self._started = clock.monotonic()
        self._infrastructure_failures = 0
        self._learned: set[str] = set()
        # An earlier attempt may have ended before it confirmed its best schedules.
        own_tasks = {trial.candidate.task for trial in own_trials}
        for state in self.states:
            state.is_changed = state.task.key in own_tasks

    def explore(self) -> str:
        """Spend the budget, except for the descent's share, where most gain is expected."""
        share = 1 - self._budget.descent
        while (stop_reason := self._stop_reason(share)) is None:
            state = most_promising(self.states)
            if state is None:
                return "every workload is settled"
            self._report("schedules", state)
            self._teach(state)
            proposed = self._compiler.propose(state.task, self._left(self._budget.batch, share))
            untried = [c for c in proposed if c.digest not in state.tried]
            if not untried:
                state.is_exhausted = True
                continue
            self._announce([other for other in self.states if other is not state], share)
            self._try(state, untried)
        return stop_reason

    def descend(self) -> None:
        """Improve each best schedule by one decision at a time, largest time share first.

        The idea of Droplet search (arXiv 2406.20037), which after some hundred trials outperforms
        thousands more of a global search.
        """
        if not self._budget.descent:
            return
        changed = [s for s in self.states if s.is_changed and s.candidates_to_confirm()]
        for state in sorted(changed, key=lambda s: s.task.calls * s.best_s, reverse=True):
            while self._stop_reason(1.0) is None:
                before = state.best_s
                self._report("descent", state)
                self._teach(state)
                most = self._left(_STEP, 1.0)
                best = state.candidates_to_confirm()[0]
                neighbours = self._compiler.neighbours(state.task, best, most)
                untried = [c for c in neighbours if c.digest not in state.tried]
                if not untried:
                    break
                self._try(state, untried)
                if state.best_s >= before * (1 - self._budget.noise):
                    break

    def confirm(self) -> tuple[str, ...]:
        """Time the best schedules of each changed workload in turns; returns the keys of those with
        a new best."""
        improved = []
        changed = [s for s in self.states if s.is_changed and s.candidates_to_confirm()]
        for done, state in enumerate(changed):
            self._progress("confirmation", done, len(changed), state.task.name)
            winner = self._fastest(state)
            if winner is None:
                continue
            previous = state.winner
            self._store.confirm(winner)
            state.winner = winner
            if previous is None or winner.candidate.digest != previous.candidate.digest:
                improved.append(state.task.key)
        return tuple(improved)

    def _fastest(self, state: OperatorState) -> Winner | None:
        candidates = state.candidates_to_confirm()
        digests = {candidate.digest for candidate in candidates}
        if state.winner and state.winner.candidate.digest not in digests:
            # The previous best is compared under the same conditions.
            candidates.append(state.winner.candidate)
        times = self._compiler.race(state.task, candidates, self._budget.rounds)
        medians = [(median(seconds), n) for n, seconds in enumerate(times) if seconds]
        if not medians:
            return None
        _, at = min(medians)
        trace = self._compiler.trace(state.task, candidates[at])
        return Winner(candidates[at], times[at], trace)

    def _announce(self, states: Sequence[OperatorState], share: float) -> None:
        """Let the compiler prepare the proposal that is likely to be next."""
        following = most_promising(states)
        if following is not None:
            self._teach(following)
            self._compiler.foresee(following.task, self._left(self._budget.batch, share))

    def _teach(self, state: OperatorState) -> None:
        """Let the compiler learn, once, the trials of a workload and of similar ones."""
        if state.task.key in self._learned:
            return
        for task, history in self._store.similar(state.task):
            if task.key not in self._learned:
                self._learned.add(task.key)
                self._compiler.learn(task, history.trials)
        self._learned.add(state.task.key)
        trials = self._store.history(state.task).trials
        if trials:
            self._compiler.learn(state.task, trials)

    def _try(self, state: OperatorState, candidates: Sequence[ScheduleCandidate]) -> None:
        """Measure candidates and learn from them; infrastructure failures are repeated."""
        complete: list[ScheduleTrial] = []
        waiting = list(candidates)
        for _ in range(_MOST_INFRASTRUCTURE_FAILURES):
            failed = []
            for candidate, result in zip(
                waiting, self._compiler.measure(state.task, waiting), strict=True
            ):
                trial = ScheduleTrial(self._number, candidate, result)
                self._number += 1
                self._store.add(trial)
                state.add(trial)
                self._charge(trial)
                if result.outcome == "infrastructure":
                    failed.append(candidate)
                else:
                    complete.append(trial)
                    self._report("measure", state)
            waiting = failed
            if not waiting:
                break
        self._compiler.learn(state.task, complete)

    def _charge(self, trial: ScheduleTrial) -> None:
        if trial.result.outcome != "infrastructure":
            self.charged_trials += 1
            self._infrastructure_failures = 0
            return
        self._infrastructure_failures += 1
        if self._infrastructure_failures >= _MOST_INFRASTRUCTURE_FAILURES:
            raise InfrastructureFailed(
                f"{self._infrastructure_failures} trials in a row failed: {trial.result.detail}"
            )

    def _report(self, phase: str, state: OperatorState) -> None:
        time = PhaseTime(self._used_s(), self._budget.seconds)
        self._progress(phase, self.charged_trials, self._budget.trials, state.task.name, time)

    def _left(self, most: int, share: float) -> int:
        if self._budget.trials is None:
            return most
        return min(most, int(self._budget.trials * share + 0.5) - self.charged_trials)

    def _stop_reason(self, share: float) -> str | None:
        budget = self._budget
        if budget.trials is not None and self._left(1, share) <= 0:
            return f"all {budget.trials} trials used"
        if budget.seconds is not None and self._used_s() >= budget.seconds * share:
            return f"all {budget.seconds:g} s used"
        return None

    def _used_s(self) -> float:
        """Seconds of this search, of earlier attempts those of their trials."""
        return self._earlier_s + self._clock.monotonic() - self._started
