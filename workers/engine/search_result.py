"""The result of a search, and its interim results while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from hpcfair.precisions import Tolerance
from workers.engine.confirmation import ConfirmedResult
from workers.engine.evaluation import Evaluation
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.search_state import SearchState
from workers.engine.testset import TestSet
from workers.engine.trials import Trial
from workers.engine.types import BuildResult

#: Smallest relative gain over the last reported build of a class that is reported before the end.
WORTH_REPORTING = 0.05


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        trials: All trials by number, including those of earlier attempts.
        confirmed_results: The confirmed candidates, whatever their verdict.
        baseline: The runtime's defaults measured against themselves: ratio 1 within noise.
        tests: Inputs that builds were checked and timed on.
        reference_accuracy: Accuracy of the reference, if the samples have labels.
        stop_reason: Why the search stopped, as readable text.
        readable: Backends whose kernels' code can be read.
        unconfirmed: Trials that were to be confirmed, for which the time did not suffice.
    """

    trials: tuple[Trial, ...]
    confirmed_results: tuple[ConfirmedResult, ...]
    baseline: ConfirmedResult
    tests: TestSet
    reference_accuracy: float | None
    stop_reason: str
    readable: frozenset[str] = frozenset()
    unconfirmed: tuple[Trial, ...] = ()


#: Receives interim results: the best build of each class, as its trial measured it. The builds'
#: files exist during the call.
ResultCallback = Callable[[SearchResult], None]


class InterimResults:
    """Reports the baseline, then each considerable gain, while the search goes on."""

    def __init__(
        self, context: EvaluationContext, state: SearchState, report: ResultCallback | None
    ) -> None:
        self._context = context
        self._state = state
        self._report = report
        self._evaluations: dict[int, Evaluation] = {}
        self._baseline: ConfirmedResult | None = None
        self._reported: dict[Tolerance, float] = {}

    def add(self, evaluation: Evaluation) -> None:
        """Take in an evaluation; reports a result if it is the baseline's or a gain."""
        trial = evaluation.trial
        if self._report is None or trial.outcome != "measured":
            return
        self._evaluations[trial.number] = evaluation
        if trial.candidate == self._context.baseline:
            self._baseline = _as_confirmed(evaluation, self._context.baseline_build)
        elif not self._is_gain(trial):
            return
        if self._baseline is not None:
            self._report(self._result(self._baseline))

    def _is_gain(self, trial: Trial) -> bool:
        # A trial whose baseline was off its level is "unstable".
        is_faster = trial.measurement is not None and trial.measurement.verdict == "faster"
        ratio = inf if trial.ratio is None else trial.ratio
        limit = (1 - WORTH_REPORTING) * self._reported.get(trial.tolerance, 1.0)
        is_gain = is_faster and ratio < limit
        if is_gain:
            self._reported[trial.tolerance] = ratio
        return is_gain

    def _result(self, baseline: ConfirmedResult) -> SearchResult:
        best: dict[Tolerance, ConfirmedResult] = {}
        for trial in self._state.candidates_to_confirm():
            build = self._state.build_of(trial)
            evaluation = self._evaluations.get(trial.number)
            if build is not None and evaluation is not None and trial.is_believed:
                best.setdefault(trial.tolerance, _as_confirmed(evaluation, build))
        return SearchResult(
            tuple(self._state.trials),
            tuple(best.values()),
            baseline,
            self._context.tests,
            self._context.reference_accuracy,
            "the search continues",
        )


def _as_confirmed(evaluation: Evaluation, build: BuildResult) -> ConfirmedResult:
    """A trial's own measurement in the form of a confirmed result."""
    trial, check = evaluation.trial, evaluation.output_check
    assert trial.measurement is not None  # noqa: S101  its outcome is "measured"
    assert check is not None  # noqa: S101
    return ConfirmedResult(trial, build, trial.measurement, check)
