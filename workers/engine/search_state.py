"""The books of a search: what it spent, what it found, when it is over."""

from collections.abc import Sequence
from math import inf

from hpcfair.measurement.ratio import MARGIN
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.errors import InfrastructureFailed
from workers.engine.strategies.tpe import bars
from workers.engine.types import BuildResult, Candidate, SearchBudget, Trial

#: Trials in a row that fail by the machine's fault before the machine is given up.
MOST_INFRASTRUCTURE_FAILURES = 3
#: Trials before a model's word that no more is to be gained ends a search.
FEWEST_TRIALS = 8


class SearchState:
    """Trials of a search, resumed ones included, against its budget.

    Args:
        baseline: Never among the finalists: it is what they are compared with.
    """

    def __init__(self, budget: SearchBudget, baseline: Candidate, stored: Sequence[Trial]) -> None:
        self.trials: list[Trial] = []
        self._budget = budget
        self._baseline = baseline
        self._since_gain = 0
        self._infrastructure_failures = 0
        self._builds: dict[int, BuildResult] = {}
        for trial in sorted(stored, key=lambda trial: trial.number):
            self._book(trial)
        # A machine that failed then gets another chance now.
        self._infrastructure_failures = 0

    @property
    def charged(self) -> int:
        """Trials that count: all but those that failed by the machine's fault."""
        return sum(trial.outcome != "infrastructure" for trial in self.trials)

    @property
    def next_number(self) -> int:
        return self.trials[-1].number + 1 if self.trials else 0

    def add(self, trial: Trial) -> list[BuildResult]:
        """Book a trial made now; returns builds whose files are of no use any more.

        Raises:
            InfrastructureFailed: too many in a row failed by the machine's fault.
        """
        self._book(trial)
        if self._infrastructure_failures >= MOST_INFRASTRUCTURE_FAILURES:
            raise InfrastructureFailed(
                f"{self._infrastructure_failures} trials in a row failed: {trial.detail}"
            )
        if trial.build is not None and trial.build.directory is not None:
            self._builds[trial.number] = trial.build
        wanted = {t.number for tolerance in TOLERANCES for t in self._best(tolerance)}
        useless = [number for number in self._builds if number not in wanted]
        return [self._builds.pop(number) for number in useless]

    def build_of(self, trial: Trial) -> BuildResult | None:
        """The trial's build if it was made now and kept."""
        return self._builds.get(trial.number)

    def ended(self) -> str | None:
        """Why the search is over, or ``None``. The first trial, the baseline's, always runs."""
        budget = self._budget
        if not self.charged:
            return None
        if budget.trials is not None and self.charged >= budget.trials:
            return f"all {budget.trials} trials used"
        if budget.seconds is not None and sum(t.duration_s for t in self.trials) >= budget.seconds:
            return f"all {budget.seconds:g} s used"
        if budget.patience is not None and self._since_gain >= budget.patience:
            return f"no gain beyond noise in {budget.patience} trials"
        return None

    def futile(self, expected_gain: float | None) -> str | None:
        """Why a search is over whose model expects no more than this of any candidate left.

        What is found is measured again with more patience than a trial has, so a gain counts that
        the headline can tell from none, however noisy trials are.
        """
        if expected_gain is None or self.charged < FEWEST_TRIALS:
            return None
        noise = max(MARGIN, self._budget.confirmation_half_width)
        if expected_gain >= noise:
            return None
        return f"the expected gain of {expected_gain:.1%} is below the noise of {noise:.1%}"

    def bar(self, tolerance: Tolerance) -> float:
        """The ratio a build of this class must reach to be of use: to be among its finalists, and
        better than what stricter classes and the baseline offer."""
        best = self._best(tolerance)
        last = best[-1].ratio if len(best) == self._budget.candidates_to_confirm else None
        return min(inf if last is None else last, self._stricter(tolerance))

    def candidates_to_confirm(self) -> list[Trial]:
        """The best of each class that may beat the baseline and every stricter class."""
        return [
            trial
            for tolerance in TOLERANCES
            for trial in self._best(tolerance)
            if trial.measurement
            and trial.measurement.verdict in {"faster", "unstable"}
            and trial.measurement.ratio.value < 1
            and trial.measurement.ratio.low < self._stricter(tolerance)
        ]

    def baseline_trial(self) -> Trial:
        """The baseline's own trial: the last one if the machine spoilt some."""
        return next(t for t in reversed(self.trials) if t.candidate == self._baseline)

    def _book(self, trial: Trial) -> None:
        if trial.outcome == "infrastructure":
            self._infrastructure_failures += 1
        else:
            self._infrastructure_failures = 0
            noise = 1 - self._budget.half_width
            gain = trial.ratio is not None and trial.ratio < noise * self._bars()[trial.tolerance]
            self._since_gain = 0 if gain else self._since_gain + 1
        self.trials.append(trial)

    def _best(self, tolerance: Tolerance) -> list[Trial]:
        # By what they are at the worst: of many noisy figures the smallest is the luckiest, and it
        # would take the time in which a proven gain can be proved again.
        measured = [
            (trial.measurement.ratio.high, trial.number, trial)
            for trial in self.trials
            if trial.outcome == "measured"
            and trial.measurement is not None
            and trial.tolerance == tolerance
            and trial.candidate != self._baseline
        ]
        return [trial for _, _, trial in sorted(measured)[: self._budget.candidates_to_confirm]]

    def _bars(self) -> dict[Tolerance, float]:
        # The baseline's ratio to itself is 1, whatever noise made of it.
        others = [trial for trial in self.trials if trial.candidate != self._baseline]
        return bars([(t.ratio, t.tolerance) for t in others if t.ratio is not None])

    def _stricter(self, tolerance: Tolerance) -> float:
        """The best ratio without this class: of stricter classes, or 1 of the baseline."""
        at = TOLERANCES.index(tolerance)
        return self._bars()[TOLERANCES[at - 1]] if at else 1.0
