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
    """Ratios that candidates are compared with: those that serve the same users.

    Attributes:
        useful: A candidate that is clearly slower is pruned.
        leading: A candidate below it gets the full check of its outputs.
    """

    useful: float
    leading: float


#: Every candidate is measured and checked in full.
NO_BAR = Bar(inf, inf)


def evaluate(
    context: EvaluationContext,
    number: int,
    proposal: Proposal,
    bar_of: Callable[[BuildResult], Bar],
) -> Evaluation:
    """Build, check and measure a candidate. A failed candidate is a trial as well.

    A measurement whose baseline is off its level is repeated. ``bar_of`` gives the bar of a
    build.
    """
    started = context.clock.monotonic()
    candidate = proposal.candidate
    build = context.device.build(candidate.backend, candidate.options)
    steps = _Steps(context, candidate, build, bar_of)
    if build.outcome == "measured":
        index = steps.run()
        if index is not None:
            context.indices[number] = index
    check = steps.output_check
    trial = Trial(
        number=number,
        candidate=candidate,
        proposed_by=proposal.proposed_by,
        outcome=steps.outcome,
        duration_s=context.clock.monotonic() - started,
        build=build,
        deviation=check.deviation if check else None,
        accuracy=check.accuracy if check else None,
        measurement=steps.measurement,
        predicted_ratio=proposal.predicted_ratio,
        detail=steps.detail,
    )
    return Evaluation(trial, check)


class _Steps:
    """Checks and measures a build.

    Attributes:
        outcome, detail, output_check, measurement: As of the trial, after the last step.
    """

    def __init__(
        self,
        context: EvaluationContext,
        candidate: Candidate,
        build: BuildResult,
        bar_of: Callable[[BuildResult], Bar],
    ) -> None:
        self.outcome: Outcome = build.outcome
        self.detail = build.detail
        self.output_check: OutputCheck | None = None
        self.measurement: Measurement | None = None
        self._context = context
        self._candidate = candidate
        self._build = build
        # The baseline's own trial always completes: noise must not prune it.
        self._bar = NO_BAR if candidate == context.baseline else bar_of(build)
        budget = context.request.budget
        self._rule = StopRule(
            budget.half_width,
            budget.seconds_per_measurement,
            rounds=FEWEST_ROUNDS,
            hopeless_above=self._bar.useful,
        )
        self._rounds = Rounds(counters=context.device.counters)

    def run(self) -> int | None:
        """All steps; returns the index of the measurement in the context's level, if it counts."""
        context, rounds = self._context, self._rounds
        try:
            index = measure_on_level(context.level, rounds, self._measure, context.close)
        except CandidateFailed as error:
            self.outcome, self.detail = error.outcome, str(error)
        except WrongOutput as error:
            self.outcome, self.detail = "wrong-output", str(error)
        except BaselineFailed as error:
            context.close()
            self.outcome, self.detail = "infrastructure", f"the baseline failed: {error}"
        else:
            self.measurement = rounds.measurement(self._rule)
            self.outcome = "pruned" if rounds.is_pruned else "measured"
            return index
        return None

    def _measure(self) -> bool:
        """One pair of processes, as of :func:`measure_on_level`."""
        context, rounds, clock = self._context, self._rounds, self._context.clock
        with closing(context.open(self._candidate, self._build, "candidate")) as session:
            # An open session of the baseline was timed in the trial before.
            expected_ns = context.level.latency_ns if context.has_baseline_session else None
            typical_s: dict[Side, float] = {"baseline": expected_ns / 1e9} if expected_ns else {}
            baseline, is_first = context.baseline_session(), self.output_check is None
            if is_first and prune_by_first_runs(
                rounds, baseline, session, self._rule, clock, expected_ns
            ):
                return False
            pair = PairMeasurement(
                rounds, baseline, session, clock, process=rounds.repetitions, typical_s=typical_s
            )
            if is_first:
                pair.measure(replace(self._rule, rounds=PRUNE_ROUNDS))
                if rounds.is_pruned:
                    return True
                self._check(session, brief=True)
            pair.measure(self._rule)
            is_leading = not rounds.is_pruned and rounds.ratio().value < self._bar.leading
            if is_leading and context.has_brief_check:
                self._check(session, brief=False)
        return True

    def _check(self, session: RunningSession, *, brief: bool) -> None:
        tolerance = self._build.tolerance
        # Of int8, what becomes of NaN is only recorded: the confirmation does so.
        planted = tolerance != "int8"
        self.output_check = self._context.compare(session, brief=brief, planted=planted)
        self._context.require(self.output_check, tolerance)
