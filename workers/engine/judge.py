"""Judging candidates on a rig: a trial in the search, a headline at its end."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from math import inf

from workers.engine.errors import BaselineFailed, CandidateFailed, RigFailed, WrongOutput
from workers.engine.measure import Rounds, Rule, hopeless_at_a_glance, measure_into
from workers.engine.numerics import Checked
from workers.engine.ratios import half_width, round_ratios
from workers.engine.rig import Rig
from workers.engine.strategies import Proposal
from workers.engine.types import (
    BuildResult,
    Candidate,
    Measurement,
    Outcome,
    Tolerance,
    Trial,
)

#: Rounds in each fresh process of a headline, and processes before its interval may end it:
#: builds differ more between processes than within one, so many short ones say more.
HEADLINE_ROUNDS = 4
FEWEST_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Headline:
    """A build measured again in fresh processes: the figure to publish."""

    trial: Trial
    build: BuildResult
    measurement: Measurement
    checked: Checked

    @property
    def faster(self) -> bool:
        return self.measurement.verdict == "faster"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a headline may cost: the first bound reached, after a few processes.

    Attributes:
        processes: Fresh ones of each side at most.
        half_width: Relative half-width of the ratio's interval aimed at.
        seconds: Starting the processes included.
        beaten_by: Ratio of a build that serves the same users. One that is slower in every round
            of its first process is given up: that one as good as it shows this by chance has
            probability ``0.5**4`` (sign test), and then the users have the other one.
    """

    processes: int
    half_width: float
    seconds: float
    beaten_by: float = inf


@dataclass(frozen=True, slots=True)
class Judged:
    """A trial, and how its outputs compared where it came that far."""

    trial: Trial
    checked: Checked | None


@dataclass(slots=True)
class _Findings:
    """What came of a candidate so far."""

    outcome: Outcome
    detail: str
    checked: Checked | None = None
    measurement: Measurement | None = None


def attempt(rig: Rig, number: int, proposal: Proposal, bar: Callable[[Tolerance], float]) -> Judged:
    """Build, check and measure a candidate. Its failure is a trial like any other.

    Args:
        bar: Ratio per tolerance class that the candidate should reach; one that is clearly slower
            is pruned.
    """
    started = rig.clock.monotonic()
    candidate = proposal.candidate
    build = rig.device.build(candidate.backend, candidate.options)
    found = _Findings(build.outcome, build.detail)
    if build.outcome == "measured":
        # The baseline beside itself is no competitor: noise must not prune it.
        hopeless_above = inf if candidate == rig.baseline else bar(build.tolerance)
        _judge(rig, candidate, build, hopeless_above, found)
    trial = Trial(
        number=number,
        candidate=candidate,
        proposed_by=proposal.proposed_by,
        outcome=found.outcome,
        duration_s=rig.clock.monotonic() - started,
        build=build,
        deviation=found.checked.deviation if found.checked else None,
        accuracy=found.checked.accuracy if found.checked else None,
        measurement=found.measurement,
        predicted_ratio=proposal.predicted_ratio,
        detail=found.detail,
    )
    return Judged(trial, found.checked)


def headline(rig: Rig, trial: Trial, build: BuildResult | None, effort: Effort) -> Headline:
    """Check a trial's candidate and measure it in fresh processes of both sides.

    Args:
        build: The trial's build where its files still exist; else it is built again.

    Raises:
        CandidateFailed: it does not build or run this time, or was given up for a better one.
        WrongOutput: it does not give the right outputs this time.
        RigFailed: the baseline does not run any more.
    """
    started = rig.clock.monotonic()
    candidate = trial.candidate
    build = build or rig.device.build(candidate.backend, candidate.options)
    if build.outcome != "measured":
        raise CandidateFailed(build.outcome, build.detail)
    seconds = rig.ticket.budget.seconds_per_measurement
    rule = Rule(effort.half_width, seconds, rounds=HEADLINE_ROUNDS)
    rounds = Rounds(counters=rig.device.counters)
    checked = _in_fresh_process(rig, candidate, build, rounds, rule)
    if min(round_ratios(rounds.blocks)) > effort.beaten_by:
        rig.device.discard(build)
        raise CandidateFailed("pruned", "another build serves the same users better")
    for done in range(1, effort.processes):
        spent = rig.clock.monotonic() - started
        if done >= FEWEST_PROCESSES and (
            half_width(rounds.ratio()) <= effort.half_width
            or spent * (done + 1) / done > effort.seconds
        ):
            break
        _in_fresh_process(rig, candidate, build, rounds, rule, process=done, known=checked)
    return Headline(trial, build, rounds.measurement(rule), checked)


def _judge(
    rig: Rig, candidate: Candidate, build: BuildResult, bar: float, found: _Findings
) -> None:
    """Check and measure a build; writes to ``found`` how far it came and why not further."""
    budget = rig.ticket.budget
    rule = Rule(budget.half_width, budget.seconds_per_measurement, hopeless_above=bar)
    rounds = Rounds(counters=rig.device.counters)
    try:
        with closing(rig.open(candidate, build, "candidate")) as session:
            against = rig.baseline_session()
            if not hopeless_at_a_glance(rounds, against, session, rule, rig.clock):
                found.checked = rig.compare(session)
                rig.require(found.checked, build.tolerance)
                measure_into(rounds, against, session, rule, rig.clock)
    except CandidateFailed as error:
        found.outcome, found.detail = error.outcome, str(error)
    except WrongOutput as error:
        found.outcome, found.detail = "wrong-output", str(error)
    except BaselineFailed as error:
        rig.close()
        found.outcome, found.detail = "infrastructure", f"the baseline failed: {error}"
    else:
        found.measurement = rounds.measurement(rule)
        found.outcome = "pruned" if rounds.pruned else "measured"


def _in_fresh_process(
    rig: Rig,
    candidate: Candidate,
    build: BuildResult,
    rounds: Rounds,
    rule: Rule,
    process: int = 0,
    known: Checked | None = None,
) -> Checked:
    """Add the rounds of a fresh process of each side; checks the candidate unless it was."""
    rig.close()
    try:
        with closing(rig.open(candidate, build, "candidate")) as session:
            checked = known or rig.compare(session)
            rig.require(checked, build.tolerance)
            measure_into(rounds, rig.baseline_session(), session, rule, rig.clock, process=process)
            return checked
    except BaselineFailed as error:
        raise RigFailed(f"the baseline failed: {error}") from error
    finally:
        rig.close()
