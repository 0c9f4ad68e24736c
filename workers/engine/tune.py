"""The search: the whole loop on one screen.

Reference and baseline first; then each proposal is built, checked, measured against the baseline
and stored, until the budget ends; then the best are measured again in fresh processes, because the
smallest of many noisy figures flatters (the winner's curse), and only that figure is published.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from hpcfair.precisions import Tolerance
from workers.engine.clock import SystemClock
from workers.engine.confirmation import confirm_candidates
from workers.engine.evaluation import (
    ConfirmationEffort,
    ConfirmedResult,
    Evaluation,
    confirm,
    evaluate,
)
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import Backend, Clock, Device, Progress, TrialStore
from workers.engine.samples import TestSet
from workers.engine.search_state import SearchState
from workers.engine.strategies import SearchProblem, Strategy, make_strategy
from workers.engine.types import BuildResult, Candidate, Trial, TuningRequest

#: Told what the search has found while it goes on: the best build of each class as its trial
#: measured it. The builds' files exist during the call.
Found = Callable[["SearchResult"], None]

#: The baseline against itself only shows that the machine is sane; two processes show it.
BASELINE_PROCESSES = 2
#: By how much a build must be faster than what was shown before, to be shown before the end.
WORTH_SHOWING = 0.05


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        trials: All of them, by number, stored ones included.
        confirmed_results: The candidates that were measured again, whatever the verdict.
        baseline: The runtime's defaults measured against themselves: ratio 1 within noise.
        tests: What builds were checked and timed on.
        reference_accuracy: Accuracy of the reference, where the samples have labels.
        ended: Why the search stopped, for people.
    """

    trials: tuple[Trial, ...]
    confirmed_results: tuple[ConfirmedResult, ...]
    baseline: ConfirmedResult
    tests: TestSet
    reference_accuracy: float | None
    ended: str


def tune(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    store: TrialStore,
    *,
    clock: Clock | None = None,
    progress: Progress | None = None,
    found: Found | None = None,
) -> SearchResult:
    """Search the ticket's backends for builds faster than the baseline.

    Stored trials are told to the strategy and never run again. ``device`` is open, and stays so:
    builds of the result live until its owner leaves it.

    Args:
        found: Told of the baseline as soon as it is measured, and of each clear gain after it.

    Raises:
        ReferenceFailed: reference or baseline does not run, so nothing can be judged.
        InfrastructureFailed: trials fail one after another by the machine's fault.
        LeaseLost: from ``store`` or ``progress``; all sessions are closed.
        Cancelled: from ``progress``; likewise.
    """
    say: Progress = progress or _silence
    say("reference", 0, None, "running the unoptimised reference and the baseline")
    with EvaluationContext(
        request, backends[request.reference_backend], device, clock or SystemClock()
    ) as context:
        state = SearchState(request.budget, context.baseline, store.trials())
        strategy = _strategy(request, backends, context.baseline, store)
        shown = _Shown(context, state, found)
        while (ended := state.ended()) is None:
            proposal = strategy.ask()
            if proposal is None:
                ended = "every configuration worth a trial was tried"
                break
            if (ended := state.futile(proposal.expected_gain)) is not None:
                break
            say("search", state.charged, request.budget.trials, proposal.candidate.name)
            evaluation = evaluate(context, state.next_number, proposal, state.bar)
            store.add(evaluation.trial)
            strategy.tell(evaluation.trial)
            useless = state.add(evaluation.trial)
            shown.consider(evaluation)
            for build in useless:
                device.discard(build)
        return _confirmed(context, state, say, ended)


def _confirmed(
    context: EvaluationContext, state: SearchState, say: Progress, stop_reason: str
) -> SearchResult:
    """Measure the best candidates and the baseline again, in fresh processes."""
    budget = context.request.budget
    candidates = [(trial, state.build_of(trial)) for trial in state.candidates_to_confirm()]
    results = confirm_candidates(context, candidates, say)
    message = "measuring the baseline against itself"
    say("confirmation", len(results), len(results), message)
    effort = ConfirmationEffort(BASELINE_PROCESSES, budget.half_width, inf)
    baseline = confirm(context, state.baseline_trial(), context.baseline_build, effort)
    return SearchResult(
        trials=tuple(state.trials),
        confirmed_results=tuple(results),
        baseline=baseline,
        tests=context.tests,
        reference_accuracy=context.reference_accuracy,
        ended=stop_reason,
    )


class _Shown:
    """What the search has shown so far: the baseline, then each clear gain, as they come."""

    def __init__(self, context: EvaluationContext, state: SearchState, tell: Found | None) -> None:
        self._context = context
        self._state = state
        self._tell = tell
        self._evaluations: dict[int, Evaluation] = {}
        self._baseline: ConfirmedResult | None = None
        self._best: dict[Tolerance, float] = {}

    def consider(self, evaluation: Evaluation) -> None:
        """Show what changes if this trial changes anything."""
        if self._tell is None or evaluation.trial.outcome != "measured":
            return
        self._evaluations[evaluation.trial.number] = evaluation
        if evaluation.trial.candidate == self._context.baseline:
            self._baseline = self._confirmed_result(evaluation, self._context.baseline_build)
        elif not self._better(evaluation.trial):
            return
        if self._baseline is not None:
            self._tell(self._result(self._baseline))

    def _better(self, trial: Trial) -> bool:
        clear = trial.measurement is not None and trial.measurement.verdict == "faster"
        ratio = inf if trial.ratio is None else trial.ratio
        better = clear and ratio < (1 - WORTH_SHOWING) * self._best.get(trial.tolerance, 1.0)
        if better:
            self._best[trial.tolerance] = ratio
        return better

    def _result(self, baseline: ConfirmedResult) -> SearchResult:
        bests: dict[Tolerance, ConfirmedResult] = {}
        for trial in self._state.candidates_to_confirm():
            build, evaluation = self._state.build_of(trial), self._evaluations.get(trial.number)
            if build is not None and evaluation is not None and trial.tolerance not in bests:
                bests[trial.tolerance] = self._confirmed_result(evaluation, build)
        return SearchResult(
            tuple(self._state.trials),
            tuple(bests.values()),
            baseline,
            self._context.tests,
            self._context.reference_accuracy,
            "it goes on",
        )

    @staticmethod
    def _confirmed_result(evaluation: Evaluation, build: BuildResult) -> ConfirmedResult:
        measured, checked = evaluation.trial.measurement, evaluation.checked
        assert measured is not None  # noqa: S101 - the outcome says so
        assert checked is not None  # noqa: S101
        return ConfirmedResult(evaluation.trial, build, measured, checked)


def _strategy(
    request: TuningRequest, backends: Mapping[str, Backend], baseline: Candidate, store: TrialStore
) -> Strategy:
    """The ticket's strategy, told of what is stored."""
    network, target = request.network, request.target
    searched = {name: backends[name] for name in request.backends}
    defaults = [Candidate(n, b.default(network, target)) for n, b in searched.items()]
    problem = SearchProblem(
        spaces={name: backend.space(network, target) for name, backend in searched.items()},
        seed=request.seed,
        defaults=[baseline, *(candidate for candidate in defaults if candidate != baseline)],
        # Compilers that start programs: an untried one would take a short search for itself.
        late=frozenset(name for name, backend in searched.items() if backend.programs),
        history=store.history(),
        experience=store.experience(),
        architecture_class=network.architecture_class,
        embedding=network.embedding,
        target=target.slug,
        features=target.features,
    )
    strategy = make_strategy(request.strategy, problem)
    for trial in store.trials():
        strategy.tell(trial)
    return strategy


def _silence(phase: str, done: int, total: int | None, message: str) -> None:
    """Nobody listens."""
