"""The loop: where to spend the next trials, and which schedule is really best."""

from collections.abc import Sequence
from statistics import median

from workers.engine.clock import SystemClock
from workers.engine.errors import InfrastructureFailed
from workers.engine.ports import Clock, Progress
from workers.engine.schedules.operator_state import OperatorState, pick
from workers.engine.schedules.ports import ScheduleCompiler, ScheduleStore
from workers.engine.schedules.types import (
    ScheduleBudget,
    ScheduleCandidate,
    ScheduleResult,
    ScheduleTask,
    ScheduleTrial,
    Winner,
)

#: Failures of the machine in a row before it is given up, and for one candidate before it is left.
_MOST_INFRASTRUCTURE_FAILURES = 3
#: Neighbours measured before the descent looks where it stands.
_STEP = 6


def tune_schedules(
    tasks: Sequence[ScheduleTask],
    compiler: ScheduleCompiler,
    store: ScheduleStore,
    budget: ScheduleBudget,
    *,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> ScheduleResult:
    """Search schedules for the workloads of a network.

    What the store knows of a workload is told to the compiler and never tried again: one that is
    settled costs no trial. Trials that fail by the machine's fault are kept, not charged, and made
    again.

    Raises:
        InfrastructureFailed: trials fail one after another by the machine's fault.
        CandidateFailed: the compiler itself cannot go on.
        LeaseLost, Cancelled: from ``store`` or ``progress``.
    """
    search = _Search(tasks, compiler, store, budget, clock or SystemClock(), progress or _silence)
    ended = search.explore()
    search.descend()
    improved = search.confirm()
    winners = {state.task.key: state.winner for state in search.states if state.winner is not None}
    return ScheduleResult(winners, improved, search.charged, ended)


class _Search:
    """One search under way.

    Attributes:
        charged: Its trials that count, earlier attempts' included.
    """

    def __init__(
        self,
        tasks: Sequence[ScheduleTask],
        compiler: ScheduleCompiler,
        store: ScheduleStore,
        budget: ScheduleBudget,
        clock: Clock,
        say: Progress,
    ) -> None:
        self._compiler, self._store, self._budget = compiler, store, budget
        self._clock, self._say = clock, say
        self.states = [OperatorState(task, store.known(task), budget) for task in tasks]
        own = store.own()
        self.charged = sum(trial.result.outcome != "infrastructure" for trial in own)
        self._number = max((trial.number for trial in own), default=-1) + 1
        self._spent_before = sum(trial.result.duration_s for trial in own)
        self._started = clock.monotonic()
        self._infrastructure_failures = 0
        self._told: set[str] = set()
        # An earlier attempt may have ended before it confirmed what it had found.
        mine = {trial.candidate.task for trial in own}
        for state in self.states:
            state.changed = state.task.key in mine

    def explore(self) -> str:
        """Spend the budget, less what the descent is kept, where most is to be gained."""
        share = 1 - self._budget.descent
        while (ended := self._ended(share)) is None:
            state = pick(self.states)
            if state is None:
                return "every workload is settled"
            self._say("schedules", self.charged, self._budget.trials, state.task.name)
            self._tell_known(state)
            proposed = self._compiler.propose(state.task, self._left(self._budget.batch, share))
            fresh = [c for c in proposed if c.digest not in state.tried]
            if not fresh:
                state.exhausted = True
                continue
            self._foresee([other for other in self.states if other is not state], share)
            self._try(state, fresh)
        return ended

    def descend(self) -> None:
        """Walk downhill from each best schedule, one decision at a time.

        The idea of Droplet search (arXiv 2406.20037), which after some hundred trials beats many
        thousand more of the global search. Workloads that weigh most go first.
        """
        if not self._budget.descent:
            return
        found = [state for state in self.states if state.changed and state.candidates_to_confirm()]
        for state in sorted(found, key=lambda b: b.task.calls * b.best_s, reverse=True):
            while self._ended(1.0) is None:
                before = state.best_s
                self._say("descent", self.charged, self._budget.trials, state.task.name)
                self._tell_known(state)
                most = self._left(_STEP, 1.0)
                around = self._compiler.neighbours(
                    state.task, state.candidates_to_confirm()[0], most
                )
                fresh = [c for c in around if c.digest not in state.tried]
                if not fresh:
                    break
                self._try(state, fresh)
                if state.best_s >= before * (1 - self._budget.noise):
                    break

    def confirm(self) -> tuple[str, ...]:
        """Time the best of each changed workload again, in turn; returns keys with a new best."""
        improved = []
        changed = [
            state for state in self.states if state.changed and state.candidates_to_confirm()
        ]
        for done, state in enumerate(changed):
            self._say("confirm", done, len(changed), state.task.name)
            winner = self._fastest(state)
            if winner is None:
                continue
            old = state.winner
            self._store.confirm(winner)
            state.winner = winner
            if old is None or winner.candidate.digest != old.candidate.digest:
                improved.append(state.task.key)
        return tuple(improved)

    def _fastest(self, state: OperatorState) -> Winner | None:
        candidates_to_confirm = state.candidates_to_confirm()
        if state.winner and state.winner.candidate.digest not in {
            c.digest for c in candidates_to_confirm
        }:
            # Yesterday's best defends its title under today's conditions.
            candidates_to_confirm.append(state.winner.candidate)
        times = self._compiler.race(state.task, candidates_to_confirm, self._budget.rounds)
        ran = [(median(seconds), n) for n, seconds in enumerate(times) if seconds]
        if not ran:
            return None
        fastest = candidates_to_confirm[min(ran)[1]]
        trace = self._compiler.trace(state.task, fastest)
        return Winner(fastest, times[min(ran)[1]], trace)

    def _foresee(self, states: Sequence[OperatorState], share: float) -> None:
        """Have the compiler think of what is likely to come next, by what is known now."""
        following = pick(states)
        if following is not None:
            self._tell_known(following)
            self._compiler.foresee(following.task, self._left(self._budget.batch, share))

    def _tell_known(self, state: OperatorState) -> None:
        """Tell the compiler, once, what is known of a workload and of those like it."""
        if state.task.key in self._told:
            return
        for task, known in self._store.similar(state.task):
            if task.key not in self._told:
                self._told.add(task.key)
                self._compiler.learn(task, known.trials)
        self._told.add(state.task.key)
        known_trials = self._store.known(state.task).trials
        if known_trials:
            self._compiler.learn(state.task, known_trials)

    def _try(self, state: OperatorState, candidates: Sequence[ScheduleCandidate]) -> None:
        """Measure candidates and learn from them; those the machine spoilt are tried again."""
        landed: list[ScheduleTrial] = []
        waiting = list(candidates)
        for _ in range(_MOST_INFRASTRUCTURE_FAILURES):
            spoilt = []
            for candidate, result in zip(
                waiting, self._compiler.measure(state.task, waiting), strict=True
            ):
                trial = ScheduleTrial(self._number, candidate, result)
                self._number += 1
                self._store.add(trial)
                state.add(trial)
                self._charge(trial)
                if result.outcome == "infrastructure":
                    spoilt.append(candidate)
                else:
                    landed.append(trial)
                    self._say("measure", self.charged, self._budget.trials, state.task.name)
            waiting = spoilt
            if not waiting:
                break
        self._compiler.learn(state.task, landed)

    def _charge(self, trial: ScheduleTrial) -> None:
        if trial.result.outcome != "infrastructure":
            self.charged += 1
            self._infrastructure_failures = 0
            return
        self._infrastructure_failures += 1
        if self._infrastructure_failures >= _MOST_INFRASTRUCTURE_FAILURES:
            raise InfrastructureFailed(
                f"{self._infrastructure_failures} trials in a row failed: {trial.result.detail}"
            )

    def _left(self, most: int, share: float) -> int:
        if self._budget.trials is None:
            return most
        return min(most, int(self._budget.trials * share + 0.5) - self.charged)

    def _ended(self, share: float) -> str | None:
        """Why this share of the budget is used up, or ``None``."""
        budget = self._budget
        spent = self._spent_before + self._clock.monotonic() - self._started
        if budget.trials is not None and self._left(1, share) <= 0:
            return f"all {budget.trials} trials used"
        if budget.seconds is not None and spent >= budget.seconds * share:
            return f"all {budget.seconds:g} s used"
        return None


def _silence(phase: str, done: int, total: int | None, message: str) -> None:
    """Nobody listens."""
