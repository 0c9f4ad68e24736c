"""Judging candidates on a rig: a trial in the search, a headline at its end."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import inf

from hpcfair.measurement.ratio import round_ratios
from hpcfair.measurement.types import Interval
from hpcfair.precisions import Tolerance
from workers.engine.contention import is_disturbed
from workers.engine.errors import BaselineFailed, CandidateFailed, InfrastructureFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import measure_into, prune_by_first_runs
from workers.engine.numerics import OutputCheck
from workers.engine.rounds import Rounds, StopRule
from workers.engine.strategies import Proposal
from workers.engine.types import BuildResult, Candidate, Measurement, Outcome, Trial

#: Rounds in each fresh process of a headline, and processes before its interval may end it:
#: builds differ more between processes than within one, so many short ones say more.
CONFIRMATION_ROUNDS = 3
FEWEST_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class ConfirmedResult:
    """A build measured again in fresh processes: the figure to publish."""

    trial: Trial
    build: BuildResult
    measurement: Measurement
    checked: OutputCheck


@dataclass(frozen=True, slots=True)
class ConfirmationEffort:
    """How much a headline may cost: the first bound reached, after a few processes.

    Attributes:
        processes: Fresh ones of each side at most.
        half_width: Relative half-width of the ratio's interval aimed at.
        seconds: Starting the processes included.
    """

    processes: int
    half_width: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A trial, and how its outputs compared where it came that far."""

    trial: Trial
    checked: OutputCheck | None


@dataclass(slots=True)
class _Findings:
    """What came of a candidate so far."""

    outcome: Outcome
    detail: str
    checked: OutputCheck | None = None
    measurement: Measurement | None = None


def evaluate(
    context: EvaluationContext, number: int, proposal: Proposal, bar: Callable[[Tolerance], float]
) -> Evaluation:
    """Build, check and measure a candidate. Its failure is a trial like any other.

    Args:
        bar: Ratio per tolerance class that the candidate should reach; one that is clearly slower
            is pruned.
    """
    started = context.clock.monotonic()
    candidate = proposal.candidate
    build = context.device.build(candidate.backend, candidate.options)
    found = _Findings(build.outcome, build.detail)
    if build.outcome == "measured":
        # The baseline beside itself is no competitor: noise must not prune it.
        hopeless_above = inf if candidate == context.baseline else bar(build.tolerance)
        _evaluate_build(context, candidate, build, hopeless_above, found)
    trial = Trial(
        number=number,
        candidate=candidate,
        proposed_by=proposal.proposed_by,
        outcome=found.outcome,
        duration_s=context.clock.monotonic() - started,
        build=build,
        deviation=found.checked.deviation if found.checked else None,
        accuracy=found.checked.accuracy if found.checked else None,
        measurement=found.measurement,
        predicted_ratio=proposal.predicted_ratio,
        detail=found.detail,
    )
    return Evaluation(trial, found.checked)


class Confirmation:
    """A trial's candidate measured again, in one fresh process of each side after another.

    Attributes:
        trial: The trial.
        build: Its build; ``None`` until the first process where its files had to be made again.
        processes: So far.
        seconds: These took, but for making files again, which a search that was cut short owes.
        ratio: So far; anything, before the first process.
    """

    def __init__(
        self, context: EvaluationContext, trial: Trial, build: BuildResult | None, wanted: float
    ) -> None:
        """``wanted`` is the relative half-width of the ratio's interval aimed at."""
        self.trial = trial
        self.build = build
        self.processes = 0
        self.seconds = 0.0
        self.ratio = Interval(1.0, 0.0, inf)
        self._context = context
        seconds = context.request.budget.seconds_per_measurement
        self._rule = StopRule(wanted, seconds, rounds=CONFIRMATION_ROUNDS)
        self._rounds = Rounds(counters=context.device.counters)
        self._checked: OutputCheck | None = None

    def process(self) -> None:
        """Add the rounds of another process; the first one checks the candidate's outputs.

        Raises:
            CandidateFailed: it does not build or run this time.
            WrongOutput: it does not give the right outputs this time.
            InfrastructureFailed: the baseline does not run any more.
        """
        context, candidate = self._context, self.trial.candidate
        if self.build is None:
            self.build = context.device.build(candidate.backend, candidate.options)
        if self.build.outcome != "measured":
            raise CandidateFailed(self.build.outcome, self.build.detail)
        context.close()
        started = context.clock.monotonic()
        try:
            self._measure(context, self.build)
        except BaselineFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        finally:
            context.close()
            self.seconds += context.clock.monotonic() - started
        self.processes += 1
        self.ratio = self._rounds.ratio()

    def _measure(self, context: EvaluationContext, build: BuildResult) -> None:
        with closing(context.open(self.trial.candidate, build, "candidate")) as session:
            if self._checked is None:
                self._checked = context.compare(session)
                context.require(self._checked, build.tolerance)
            baseline, done = context.baseline_session(), self.processes
            measure_into(self._rounds, baseline, session, self._rule, context.clock, process=done)

    @property
    def settled(self) -> bool:
        """Whether the interval is as narrow as was wanted, and enough rounds were left alone."""
        rounds = self._rounds
        return (
            self.processes >= FEWEST_PROCESSES
            and self.ratio.half_width <= self._rule.half_width
            and not is_disturbed(rounds.blocks, rounds.contended)
        )

    def slower_than(self, ratio: float) -> bool:
        """Whether it was, in every round."""
        return bool(min(round_ratios(self._rounds.blocks)) > ratio)

    def result(self) -> ConfirmedResult:
        """What came of it; there must have been a process."""
        assert self.build is not None  # noqa: S101 - as above
        assert self._checked is not None  # noqa: S101
        return ConfirmedResult(
            self.trial, self.build, self._rounds.measurement(self._rule), self._checked
        )


def confirm(
    context: EvaluationContext, trial: Trial, build: BuildResult | None, effort: ConfirmationEffort
) -> ConfirmedResult:
    """Check a trial's candidate and measure it in fresh processes of both sides.

    Args:
        build: The trial's build where its files still exist; else it is built again.

    Raises:
        CandidateFailed, WrongOutput, InfrastructureFailed: as :meth:`Confirmation.process`.
    """
    confirmation = Confirmation(context, trial, build, effort.half_width)
    while confirmation.processes < effort.processes:
        done = confirmation.processes
        late = done and confirmation.seconds * (done + 1) / done > effort.seconds
        if done >= FEWEST_PROCESSES and (late or confirmation.settled):
            break
        confirmation.process()
    return confirmation.result()


def _evaluate_build(
    context: EvaluationContext,
    candidate: Candidate,
    build: BuildResult,
    bar: float,
    found: _Findings,
) -> None:
    """Check and measure a build; writes to ``found`` how far it came and why not further."""
    budget = context.request.budget
    rule = StopRule(budget.half_width, budget.seconds_per_measurement, hopeless_above=bar)
    rounds = Rounds(counters=context.device.counters)
    try:
        with closing(context.open(candidate, build, "candidate")) as session:
            against = context.baseline_session()
            if not prune_by_first_runs(rounds, against, session, rule, context.clock):
                found.checked = context.compare(session)
                context.require(found.checked, build.tolerance)
                measure_into(rounds, against, session, rule, context.clock)
    except CandidateFailed as error:
        found.outcome, found.detail = error.outcome, str(error)
    except WrongOutput as error:
        found.outcome, found.detail = "wrong-output", str(error)
    except BaselineFailed as error:
        context.close()
        found.outcome, found.detail = "infrastructure", f"the baseline failed: {error}"
    else:
        found.measurement = rounds.measurement(rule)
        found.outcome = "pruned" if rounds.is_pruned else "measured"
