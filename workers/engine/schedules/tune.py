"""The loop: where to spend the next trials, and which schedule is really best."""

from collections.abc import Sequence
from statistics import median

from workers.engine.clock import SystemClock
from workers.engine.errors import RigFailed
from workers.engine.ports import Clock, Progress
from workers.engine.schedules.book import Book, pick
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
_MOST_RIG_FAILURES = 3
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
        RigFailed: trials fail one after another by the machine's fault.
        CandidateFailed: the compiler itself cannot go on.
        LeaseLost, Cancelled: from ``store`` or ``progress``.
    """
    search = _Search(tasks, compiler, store, budget, clock or SystemClock(), progress or _silence)
    ended = search.explore()
    search.descend()
    improved = search.confirm()
    winners = {book.task.key: book.winner for book in search.books if book.winner is not None}
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
        self.books = [Book(task, store.known(task), budget) for task in tasks]
        own = store.own()
        self.charged = sum(trial.result.outcome != "infrastructure" for trial in own)
        self._number = max((trial.number for trial in own), default=-1) + 1
        self._spent_before = sum(trial.result.duration_s for trial in own)
        self._started = clock.monotonic()
        self._rig_failures = 0
        self._told: set[str] = set()
        # An earlier attempt may have ended before it confirmed what it had found.
        mine = {trial.candidate.task for trial in own}
        for book in self.books:
            book.changed = book.task.key in mine

    def explore(self) -> str:
        """Spend the budget, less what the descent is kept, where most is to be gained."""
        share = 1 - self._budget.descent
        while (ended := self._ended(share)) is None:
            book = pick(self.books)
            if book is None:
                return "every workload is settled"
            self._say("schedules", self.charged, self._budget.trials, book.task.name)
            self._tell_known(book)
            proposed = self._compiler.propose(book.task, self._left(self._budget.batch, share))
            fresh = [c for c in proposed if c.digest not in book.tried]
            if not fresh:
                book.exhausted = True
                continue
            self._foresee([other for other in self.books if other is not book], share)
            self._try(book, fresh)
        return ended

    def descend(self) -> None:
        """Walk downhill from each best schedule, one decision at a time.

        The idea of Droplet search (arXiv 2406.20037), which after some hundred trials beats many
        thousand more of the global search. Workloads that weigh most go first.
        """
        if not self._budget.descent:
            return
        found = [book for book in self.books if book.changed and book.finalists()]
        for book in sorted(found, key=lambda b: b.task.calls * b.best_s, reverse=True):
            while self._ended(1.0) is None:
                before = book.best_s
                self._say("descent", self.charged, self._budget.trials, book.task.name)
                self._tell_known(book)
                most = self._left(_STEP, 1.0)
                around = self._compiler.neighbours(book.task, book.finalists()[0], most)
                fresh = [c for c in around if c.digest not in book.tried]
                if not fresh:
                    break
                self._try(book, fresh)
                if book.best_s >= before * (1 - self._budget.noise):
                    break

    def confirm(self) -> tuple[str, ...]:
        """Time the best of each changed workload again, in turn; returns keys with a new best."""
        improved = []
        changed = [book for book in self.books if book.changed and book.finalists()]
        for done, book in enumerate(changed):
            self._say("confirm", done, len(changed), book.task.name)
            winner = self._fastest(book)
            if winner is None:
                continue
            old = book.winner
            self._store.confirm(winner)
            book.winner = winner
            if old is None or winner.candidate.digest != old.candidate.digest:
                improved.append(book.task.key)
        return tuple(improved)

    def _fastest(self, book: Book) -> Winner | None:
        finalists = book.finalists()
        if book.winner and book.winner.candidate.digest not in {c.digest for c in finalists}:
            # Yesterday's best defends its title under today's conditions.
            finalists.append(book.winner.candidate)
        times = self._compiler.race(book.task, finalists, self._budget.rounds)
        ran = [(median(seconds), n) for n, seconds in enumerate(times) if seconds]
        if not ran:
            return None
        fastest = finalists[min(ran)[1]]
        trace = self._compiler.trace(book.task, fastest)
        return Winner(fastest, times[min(ran)[1]], trace)

    def _foresee(self, books: Sequence[Book], share: float) -> None:
        """Have the compiler think of what is likely to come next, by what is known now."""
        following = pick(books)
        if following is not None:
            self._tell_known(following)
            self._compiler.foresee(following.task, self._left(self._budget.batch, share))

    def _tell_known(self, book: Book) -> None:
        """Tell the compiler, once, what is known of a workload and of those like it."""
        if book.task.key in self._told:
            return
        for task, known in self._store.similar(book.task):
            if task.key not in self._told:
                self._told.add(task.key)
                self._compiler.learn(task, known.trials)
        self._told.add(book.task.key)
        known_trials = self._store.known(book.task).trials
        if known_trials:
            self._compiler.learn(book.task, known_trials)

    def _try(self, book: Book, candidates: Sequence[ScheduleCandidate]) -> None:
        """Measure candidates and learn from them; those the machine spoilt are tried again."""
        landed: list[ScheduleTrial] = []
        waiting = list(candidates)
        for _ in range(_MOST_RIG_FAILURES):
            spoilt = []
            for candidate, result in zip(
                waiting, self._compiler.measure(book.task, waiting), strict=True
            ):
                trial = ScheduleTrial(self._number, candidate, result)
                self._number += 1
                self._store.add(trial)
                book.add(trial)
                self._charge(trial)
                if result.outcome == "infrastructure":
                    spoilt.append(candidate)
                else:
                    landed.append(trial)
                    self._say("measure", self.charged, self._budget.trials, book.task.name)
            waiting = spoilt
            if not waiting:
                break
        self._compiler.learn(book.task, landed)

    def _charge(self, trial: ScheduleTrial) -> None:
        if trial.result.outcome != "infrastructure":
            self.charged += 1
            self._rig_failures = 0
            return
        self._rig_failures += 1
        if self._rig_failures >= _MOST_RIG_FAILURES:
            raise RigFailed(f"{self._rig_failures} trials in a row failed: {trial.result.detail}")

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
