"""Evaluates a candidate in a search: builds it, checks its outputs, measures it.

::

    screening     a few runs, then two rounds; a candidate that is clearly slower goes no further
    brief check   outputs on a few inputs
    measurement   a few more rounds
    full check    all inputs, for a candidate that is faster than the best of its class so far

The other candidates get the full check in their confirmation, if they come that far.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from math import inf

from hpcfair.measurement.ratio import FEWEST_ROUNDS
from hpcfair.measurement.types import Side
from hpcfair.precisions import Tolerance
from workers.engine.errors import BaselineFailed, CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import PairMeasurement, prune_by_first_runs
from workers.engine.numerics import OutputCheck
from workers.engine.ports import RunningSession
from workers.engine.repetition import measure_on_level
from workers.engine.rounds import PRUNE_ROUNDS, Rounds, StopRule
from workers.engine.strategies import Proposal
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A trial, with the comparison of its outputs unless it ended before."""

    trial: Trial
    output_check: OutputCheck | None


@dataclass(frozen=True, slots=True)
class Bar:
    """Ratios that candidates of one tolerance class are compared with.

    Attributes:
        useful: A candidate that is clearly slower is pruned.
        leading: A candidate below it gets the full check of its outputs.
    """

    useful: float
    leading: float


#: Every candidate is measured and checked in full.
NO_BAR = Bar(inf, inf)


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
    bar_of: Callable[[Tolerance], Bar],
) -> Evaluation:
    """Build, check and measure a candidate. A failed candidate is a trial as well.

    A measurement whose baseline is off its level is repeated. ``bar_of`` gives the bar of a
    tolerance class.
    """
    started = context.clock.monotonic()
    candidate = proposal.candidate
    build = context.device.build(candidate.backend, candidate.options)
    progress = _Progress(build.outcome, build.detail)
    if build.outcome == "measured":
        # The baseline's own trial always completes: noise must not prune it.
        bar = NO_BAR if candidate == context.baseline else bar_of(build.tolerance)
        _evaluate_build(context, number, candidate, build, bar, progress)
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
    bar: Bar,
    progress: _Progress,
) -> None:
    budget = context.request.budget
    rule = StopRule(
        budget.half_width,
        budget.seconds_per_measurement,
        rounds=FEWEST_ROUNDS,
        hopeless_above=bar.useful,
    )
    rounds = Rounds(counters=context.device.counters)

    def check(session: RunningSession, *, brief: bool) -> None:
        progress.output_check = context.compare(session, brief=brief)
        context.require(progress.output_check, build.tolerance)

    def measure() -> bool:
        with closing(context.open(candidate, build, "candidate")) as session:
            # An open session of the baseline was timed in the trial before.
            expected_ns = context.level.latency_ns if context.has_baseline_session else None
            typical_s: dict[Side, float] = {"baseline": expected_ns / 1e9} if expected_ns else {}
            baseline, clock = context.baseline_session(), context.clock
            is_first = progress.output_check is None
            if is_first and prune_by_first_runs(
                rounds, baseline, session, rule, clock, expected_ns
            ):
                return False
            pair = PairMeasurement(
                rounds,
                baseline,
                session,
                clock,
                process=rounds.repetitions,
                typical_s=typical_s,
            )
            if is_first:
                pair.measure(replace(rule, rounds=PRUNE_ROUNDS))
                if rounds.is_pruned:
                    return True
                check(session, brief=True)
            pair.measure(rule)
            is_leading = not rounds.is_pruned and rounds.ratio().value < bar.leading
            if is_leading and context.has_brief_check:
                check(session, brief=False)
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
