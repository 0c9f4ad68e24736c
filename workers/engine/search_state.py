"""The state of a search: its trials, its budget and whether it should stop."""

from collections.abc import Callable, Collection, Sequence
from math import inf

from hpcfair.measurement.ratio import MARGIN
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.errors import InfrastructureFailed
from workers.engine.evaluation import Bar
from workers.engine.requests import SearchBudget
from workers.engine.strategies.tpe import ratios_to_beat
from workers.engine.trials import ERROR_LIMITS, Trial, error_limit, is_closer
from workers.engine.types import BuildResult, Candidate

#: Consecutive infrastructure failures after which the machine is given up.
MOST_INFRASTRUCTURE_FAILURES = 3
#: Trials before a model's low expected gain may end a search.
FEWEST_TRIALS = 8


class SearchState:
    """Trials of a search, including those ``stored`` by earlier attempts, against its budget.
    ``baseline`` is never confirmed as a candidate: the others are compared with it.

    The fastest build of each ``readable`` backend, whose kernels' code can be read, is kept.

    Ratios of trials that are not believed, or became doubtful since (``is_doubtful`` of a trial's
    number), do not count. The best of them are confirmed as well, because the gain may be real.
    """

    def __init__(
        self,
        budget: SearchBudget,
        baseline: Candidate,
        stored: Sequence[Trial],
        is_doubtful: Callable[[int], bool] = lambda _: False,
        readable: Collection[str] = (),
    ) -> None:
        self.trials: list[Trial] = []
        self._is_doubtful = is_doubtful
        self._readable = readable
        self._budget = budget
        self._baseline = baseline
        self._since_gain = 0
        self._infrastructure_failures = 0
        self._builds: dict[int, BuildResult] = {}
        for trial in sorted(stored, key=lambda trial: trial.number):
            self._append(trial)
        # Failures of an earlier attempt do not count against the machine of this one.
        self._infrastructure_failures = 0

    @property
    def charged_trials(self) -> int:
        """Number of trials without infrastructure failures, which are not charged."""
        return sum(trial.outcome != "infrastructure" for trial in self.trials)

    @property
    def used_s(self) -> float:
        """Seconds of all trials, which count towards the budget."""
        return sum(trial.duration_s for trial in self.trials)

    @property
    def next_number(self) -> int:
        """Number of the next trial."""
        return self.trials[-1].number + 1 if self.trials else 0

    def add(self, trial: Trial) -> list[BuildResult]:
        """Append a new trial; returns the builds whose files are no longer needed. Raises
        InfrastructureFailed after too many consecutive infrastructure failures."""
        self._append(trial)
        if self._infrastructure_failures >= MOST_INFRASTRUCTURE_FAILURES:
            raise InfrastructureFailed(
                f"{self._infrastructure_failures} trials in a row failed: {trial.detail}"
            )
        if trial.build is not None and trial.build.directory is not None:
            self._builds[trial.number] = trial.build
        needed = {best.number for tolerance in TOLERANCES for best in self._best(tolerance)}
        needed |= {trial.number for trial in self.candidates_to_confirm()}
        needed |= {best.number for best in self.readable_trials()}
        obsolete = [number for number in self._builds if number not in needed]
        return [self._builds.pop(number) for number in obsolete]

    def build_of(self, trial: Trial) -> BuildResult | None:
        """The trial's build if its files exist; ``None`` for trials of earlier attempts."""
        return self._builds.get(trial.number)

    def stop_reason(self) -> str | None:
        """Why the budget ends the search, or ``None``. The baseline's trial always runs."""
        budget = self._budget
        if not self.charged_trials:
            return None
        if budget.trials is not None and self.charged_trials >= budget.trials:
            return f"all {budget.trials} trials used"
        if budget.seconds is not None and self.used_s >= budget.seconds:
            return f"all {budget.seconds:g} s used"
        if budget.patience is not None and self._since_gain >= budget.patience:
            return f"no gain beyond noise in {budget.patience} trials"
        return None

    def futility_reason(self, expected_gain: float | None) -> str | None:
        """Why a model's expected gain ends the search, or ``None``.

        Candidates are confirmed with more effort than a trial, so a gain counts if a confirmation
        can tell it from none, however noisy trials are.
        """
        if expected_gain is None or self.charged_trials < FEWEST_TRIALS:
            return None
        noise = max(MARGIN, self._budget.confirmation_half_width)
        if expected_gain >= noise:
            return None
        return f"the expected gain of {expected_gain:.1%} is below the noise of {noise:.1%}"

    def bar(self, build: BuildResult) -> Bar:
        """The ratio below which a build is useful: one of the candidates to confirm of its class,
        and faster than the baseline and all builds of stricter classes; and the ratio below which
        it is the best build for users of its class. For a build that keeps to a limit on its error,
        both are the best ratio within the usual limit below, which it may keep to as well."""
        limit, tolerance = error_limit(build), build.tolerance
        if limit is not None:
            usual = max((each for each in ERROR_LIMITS if each <= limit), default=limit)
            within = [t.ratio for t in self._ranked(doubtful=False) if _error(t) <= usual]
            best_within = min([1.0, *(ratio for ratio in within if ratio is not None)])
            return Bar(best_within, leading=best_within)
        best = self._best(tolerance)
        last = best[-1].ratio if len(best) == self._budget.candidates_to_confirm else None
        useful = min(inf if last is None else last, self._best_stricter_ratio(tolerance))
        return Bar(useful, leading=self._ratios_to_beat()[tolerance])

    def candidates_to_confirm(self) -> list[Trial]:
        """The best of each class that may be faster than the baseline and all stricter classes;
        then slower ones that are considerably closer to the reference."""
        best = [
            trial
            for tolerance in TOLERANCES
            for trial in [*self._best(tolerance), *self._best(tolerance, doubtful=True)]
            if _may_be_faster(trial)
            and trial.measurement
            and trial.measurement.ratio.low < self._best_stricter_ratio(tolerance)
        ]
        return [*best, *self._closer(best)]

    def readable_trials(self) -> list[Trial]:
        """The fastest trial of each backend whose kernels' code can be read."""
        fastest: dict[str, tuple[float, int, Trial]] = {}
        for trial in self.trials:
            name = trial.candidate.backend
            if name in self._readable and trial.ratio is not None and trial.is_believed:
                entry = (trial.ratio, trial.number, trial)
                fastest[name] = min(entry, fastest.get(name, entry))
        return [trial for _, _, trial in fastest.values()]

    def baseline_trial(self) -> Trial:
        """The baseline's own trial; the last one if there were infrastructure failures."""
        return next(t for t in reversed(self.trials) if t.candidate == self._baseline)

    def _append(self, trial: Trial) -> None:
        if trial.outcome == "infrastructure":
            self._infrastructure_failures += 1
        else:
            self._infrastructure_failures = 0
            noise = 1 - self._budget.half_width
            limit = noise * self._ratios_to_beat()[trial.tolerance]
            is_gain = trial.is_believed and trial.ratio is not None and trial.ratio < limit
            self._since_gain = 0 if is_gain else self._since_gain + 1
        self.trials.append(trial)

    def _best(self, tolerance: Tolerance, *, doubtful: bool = False) -> list[Trial]:
        ranked = [t for t in self._ranked(doubtful=doubtful) if t.tolerance == tolerance]
        return ranked[: self._budget.candidates_to_confirm]

    def _closer(self, best: Sequence[Trial]) -> list[Trial]:
        """Of the Pareto fronts of ratio and error, the fastest trials that are not among the best:
        each is considerably closer to the reference than all faster ones. There is a front by the
        upper ends of the ratios' intervals and one by the ratios, where a trial with a wide
        interval may precede a slower one with a narrow interval. Of each front no more than the
        best of one class, and none in a brief search, because each takes time from their
        confirmation."""
        most = self._budget.candidates_to_confirm
        if most <= 1:
            return []
        by_end = [t for t in self._ranked(doubtful=False) if _may_be_faster(t)]
        by_ratio = sorted(by_end, key=_ratio)
        closer: dict[int, Trial] = {}
        for front in (_front(by_end), _front(by_ratio)):
            others = [trial for trial in front if trial not in best]
            closer |= {trial.number: trial for trial in others[:most]}
        return sorted(closer.values(), key=_ratio)

    def _ranked(self, *, doubtful: bool) -> list[Trial]:
        """Measured trials but for the baseline's, best first."""
        # By the upper end of the interval: the smallest of many noisy ratios is the luckiest one,
        # and its confirmation would take time from a proven gain.
        measured = [
            (trial.measurement.ratio.high, trial.number, trial)
            for trial in self.trials
            if trial.outcome == "measured"
            and trial.measurement is not None
            and trial.candidate != self._baseline
            and self._is_on_level(trial) != doubtful
        ]
        return [trial for _, _, trial in sorted(measured)]

    def _ratios_to_beat(self) -> dict[Tolerance, float]:
        # The baseline's ratio to itself is 1, whatever its noisy measurement says.
        others = [t for t in self.trials if t.candidate != self._baseline and self._is_on_level(t)]
        return ratios_to_beat([(t.ratio, t.tolerance) for t in others if t.ratio is not None])

    def _is_on_level(self, trial: Trial) -> bool:
        """Whether the baseline beside the trial was at its level."""
        return trial.is_believed and not self._is_doubtful(trial.number)

    def _best_stricter_ratio(self, tolerance: Tolerance) -> float:
        """The best ratio of all stricter classes and the baseline, whose ratio is 1."""
        at = TOLERANCES.index(tolerance)
        return self._ratios_to_beat()[TOLERANCES[at - 1]] if at else 1.0


def _front(ranked: Sequence[Trial]) -> list[Trial]:
    """The trials that are considerably closer to the reference than all those ranked before."""
    front: list[Trial] = []
    for trial in ranked:
        if not front or is_closer(trial.relative_error, front[-1].relative_error):
            front.append(trial)
    return front


def _ratio(trial: Trial) -> float:
    return inf if trial.ratio is None else trial.ratio


def _error(trial: Trial) -> float:
    return inf if trial.relative_error is None else trial.relative_error


def _may_be_faster(trial: Trial) -> bool:
    """Whether the measurement leaves open that the candidate is faster than the baseline."""
    measured = trial.measurement
    return (
        measured is not None
        and measured.verdict in {"faster", "unstable"}
        and measured.ratio.value < 1
    )
