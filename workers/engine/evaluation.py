"""Evaluates a candidate in a search: builds it, checks its outputs, measures it."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import inf

from hpcfair.precisions import Tolerance
from workers.engine.errors import BaselineFailed, CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import measure_into, prune_by_first_runs
from workers.engine.numerics import OutputCheck
from workers.engine.repetition import measure_on_level
from workers.engine.rounds import Rounds, StopRule
from workers.engine.strategies import Proposal
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A trial, with the comparison of its outputs unless it ended before."""

    trial: Trial
    output_check: OutputCheck | None


@dataclass(slots=True)
class _Progress:
    """The steps that a candidate has passed, and why it went no further."""

    outcome: Outcome
    detail: str
    output_check: OutputCheck | None = None
    measurement: Measurement | None = None


def evaluate(
    context: EvaluationContext,
    number: int,
    proposal: Proposal,
    ratio_to_beat: Callable[[Tolerance], float],
) -> Evaluation:
    """Build, check and measure a candidate. A failed candidate is a trial as well.

    A measurement whose baseline is off its level is repeated.

    ``ratio_to_beat`` gives the ratio of a tolerance class that a useful candidate must reach; a
    candidate that is clearly slower is pruned.
    """
    started = context.clock.monotonic()
    candidate = proposal.candidate
    build = context.device.build(candidate.backend, candidate.options)
    progress = _Progress(build.outcome, build.detail)
    if build.outcome == "measured":
        # The baseline's own trial always completes: noise must not prune it.
        limit = inf if candidate == context.baseline else ratio_to_beat(build.tolerance)
        _evaluate_build(context, number, candidate, build, limit, progress)
    check = progress.output_check
    trial = Trial(
        number=number,
        candidate=candidate,
        proposed_by=proposal.proposed_by,
        outcome=progress.outcome,
        duration_s=context.clock.monotonic() - started,
        build=build,
        deviation=check.deviation if check else None,
        accuracy=check.accuracy if check else None,
        measurement=progress.measurement,
        predicted_ratio=proposal.predicted_ratio,
        detail=progress.detail,
    )
    return Evaluation(trial, check)


def _evaluate_build(
    context: EvaluationContext,
    number: int,
    candidate: Candidate,
    build: BuildResult,
    limit: float,
    progress: _Progress,
) -> None:
    budget = context.request.budget
    rule = StopRule(budget.half_width, budget.seconds_per_measurement, hopeless_above=limit)
    rounds = Rounds(counters=context.device.counters)

    def measure() -> bool:
        with closing(context.open(candidate, build, "candidate")) as session:
            baseline = context.baseline_session()
            if progress.output_check is None:
                if prune_by_first_runs(rounds, baseline, session, rule, context.clock):
                    return False
                progress.output_check = context.compare(session)
                context.require(progress.output_check, build.tolerance)
            measure_into(rounds, baseline, session, rule, context.clock, process=rounds.repetitions)
        return True

    try:
        index = measure_on_level(context.level, rounds, measure, context.close)
    except CandidateFailed as error:
        progress.outcome, progress.detail = error.outcome, str(error)
    except WrongOutput as error:
        progress.outcome, progress.detail = "wrong-output", str(error)
    except BaselineFailed as error:
        context.close()
        progress.outcome, progress.detail = "infrastructure", f"the baseline failed: {error}"
    else:
        if index is not None:
            context.indices[number] = index
        progress.measurement = rounds.measurement(rule)
        progress.outcome = "pruned" if rounds.is_pruned else "measured"
