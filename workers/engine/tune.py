"""The search loop.

The reference and the baseline run first. Then each proposed candidate is built, checked, measured
against the baseline and stored, until the budget ends. At the end the best candidates are confirmed
in fresh processes, because the smallest of many noisy ratios is too optimistic (winner's curse);
only confirmed results are published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from workers.engine.clock import Clock, SystemClock
from workers.engine.confirmation import (
    FEWEST_PROCESSES,
    ConfirmationEffort,
    ConfirmedResult,
    confirm,
)
from workers.engine.confirmation_runs import confirm_candidates
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation import evaluate
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import Backend, Device, PhaseTime, Progress, TrialStore, no_progress
from workers.engine.requests import TuningRequest
from workers.engine.search_result import InterimResults, ResultCallback, SearchResult
from workers.engine.search_state import SearchState
from workers.engine.strategies import SearchProblem, Strategy, make_strategy
from workers.engine.types import Candidate

#: Processes in which the baseline is compared with itself, a check of the machine.
BASELINE_PROCESSES = 2
#: Largest ratio to the baseline of a build that is published for its kernels' code: slower ones say
#: little about what a fast one needs.
READABLE_RATIO = 3.0


def tune(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    store: TrialStore,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
    on_interim_result: ResultCallback | None = None,
) -> SearchResult:
    """Search the request's backends for builds that are faster than the baseline.

    Trials in the store are told to the strategy and not repeated.

    Args:
        device: Must be open and stays open: the result's builds exist until it is closed.
        on_interim_result: Called when the baseline is measured, and after each considerable gain.

    Raises:
        ReferenceFailed: reference or baseline does not run, so nothing can be compared.
        InfrastructureFailed: several trials in a row failed by the machine's fault.
        LeaseLost: from ``store`` or ``progress``; all sessions are closed.
        Cancelled: from ``progress``; likewise.
    """
    progress("reference", 0, None, "running the unoptimised reference and the baseline")
    reference = backends[request.reference_backend]
    baseline = backends[request.baseline_backend or request.reference_backend]
    with EvaluationContext(request, reference, device, clock or SystemClock(), baseline) as context:
        readable = frozenset(name for name in request.backends if backends[name].has_code)
        state = SearchState(
            request.budget, context.baseline, store.trials(), context.is_doubtful, readable
        )
        strategy = _strategy(request, backends, context.baseline, store)
        interim = InterimResults(context, state, on_interim_result)
        while (stop_reason := state.stop_reason()) is None:
            proposal = strategy.ask()
            if proposal is None:
                stop_reason = "every configuration worth a trial was tried"
                break
            if (stop_reason := state.futility_reason(proposal.expected_gain)) is not None:
                break
            name = proposal.candidate.name
            time = PhaseTime(state.used_s, request.budget.seconds)
            progress("search", state.charged_trials, request.budget.trials, name, time)
            store.begin(proposal.candidate)
            evaluation = evaluate(context, state.next_number, proposal, state.bar)
            store.add(evaluation.trial)
            strategy.tell(evaluation.trial)
            obsolete = state.add(evaluation.trial)
            interim.add(evaluation)
            for build in obsolete:
                device.discard(build)
        return replace(_confirmed(context, state, progress, stop_reason), readable=readable)


def _confirmed(
    context: EvaluationContext, state: SearchState, progress: Progress, stop_reason: str
) -> SearchResult:
    """Confirm the best candidates, then the baseline."""
    candidates = [
        (trial, state.build_of(trial))
        for trial in state.candidates_to_confirm()
        if trial.candidate.sha256 not in context.request.banned
    ]
    results, unconfirmed = confirm_candidates(context, candidates, progress)
    results += _readable_results(context, state, results, progress)
    progress("confirmation", len(results), None, "the baseline against itself")
    effort = ConfirmationEffort(BASELINE_PROCESSES, context.request.budget.half_width, inf)
    baseline = confirm(context, state.baseline_trial(), context.baseline_build, effort)
    return SearchResult(
        trials=tuple(state.trials),
        confirmed_results=tuple(results),
        unconfirmed=tuple(unconfirmed),
        baseline=baseline,
        tests=context.tests,
        reference_accuracy=context.reference_accuracy,
        stop_reason=stop_reason,
    )


def _readable_results(
    context: EvaluationContext,
    state: SearchState,
    results: Sequence[ConfirmedResult],
    progress: Progress,
) -> list[ConfirmedResult]:
    """Confirmed results of backends whose kernels' code can be read, if none of theirs is among
    ``results`` or the baseline: their profiles show how the time passes, even if other builds are
    faster."""
    confirmed = {context.baseline.backend, *(one.trial.candidate.backend for one in results)}
    effort = ConfirmationEffort(FEWEST_PROCESSES, context.request.budget.half_width, inf)
    added = []
    for trial in state.readable_trials():
        candidate = trial.candidate
        is_worth_reading = trial.ratio is not None and trial.ratio <= READABLE_RATIO
        if not is_worth_reading or candidate.backend in confirmed:
            continue
        if candidate.sha256 in context.request.banned:
            continue
        progress("confirmation", len(results), None, candidate.name)
        try:
            added.append(confirm(context, trial, state.build_of(trial), effort))
        except (CandidateFailed, WrongOutput) as error:
            progress("confirmation", len(results), None, f"{candidate.name} failed: {error}")
    return added


def _strategy(
    request: TuningRequest, backends: Mapping[str, Backend], baseline: Candidate, store: TrialStore
) -> Strategy:
    """The request's strategy, which knows the stored trials."""
    network, target = request.network, request.target
    searched = {name: backends[name] for name in request.backends}
    defaults = [Candidate(n, b.default(network, target)) for n, b in searched.items()]
    problem = SearchProblem(
        spaces={name: backend.space(network, target) for name, backend in searched.items()},
        seed=request.seed,
        defaults=[baseline, *(candidate for candidate in defaults if candidate != baseline)],
        # Compilers that start programs: an untried one could use up a short search.
        slow_backends=frozenset(name for name, backend in searched.items() if backend.programs),
        seconds=request.budget.seconds,
        history=store.history(),
        experience=store.experience(),
        network=network.graph_hash,
        architecture_class=network.architecture_class,
        embedding=network.embedding,
        target=target.slug,
        features=target.features,
    )
    strategy = make_strategy(request.strategy, problem)
    strategy.exclude(request.banned - {baseline.sha256})
    for trial in store.trials():
        strategy.tell(trial)
    return strategy
