"""Confirmation of one candidate: measured again in fresh processes, which gives its result."""

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from hpcfair.measurement.ratio import MARGIN, is_disturbed, round_ratios
from hpcfair.measurement.sequential import log_ratios
from hpcfair.measurement.types import Interval
from workers.engine.errors import BaselineFailed, CandidateFailed, InfrastructureFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import measure_into
from workers.engine.numerics import OutputCheck
from workers.engine.repetition import measure_on_level
from workers.engine.rounds import Rounds, StopRule
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, GenerationTiming

#: Rounds in each fresh process. Builds differ more between processes than within one, so many
#: short processes give a narrower interval than few long ones.
CONFIRMATION_ROUNDS = 3
#: Processes before the width of the interval may end a confirmation.
FEWEST_PROCESSES = 3


@dataclass(frozen=True, slots=True)
class ConfirmedResult:
    """A build measured in fresh processes: the result that is published.

    ``generation`` is of decoders with a cache only, see :mod:`workers.engine.generation`.
    """

    trial: Trial
    build: BuildResult
    measurement: Measurement
    output_check: OutputCheck
    generation: tuple[GenerationTiming, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfirmationEffort:
    """Bounds on the confirmation of one candidate; the first one reached ends it.

    Attributes:
        processes: Most fresh processes per side.
        half_width: Relative half-width of the ratio's interval to reach.
        seconds: Including the start of processes.
    """

    processes: int
    half_width: float
    seconds: float


class Confirmation:
    """A candidate under confirmation, one fresh process of each side after another.

    Args:
        half_width: Relative half-width of the ratio's interval to reach.

    Attributes:
        trial: The candidate's trial in the search.
        build: Its build if the files exist; ``None`` if the first process must build it again.
        processes: Number of processes so far.
        seconds: Their duration, without the time to build again.
        ratio: Over all processes so far; unbounded before the first one. Its interval is valid at
            all times, so that it may end the confirmation.
    """

    def __init__(
        self, context: EvaluationContext, trial: Trial, build: BuildResult | None, half_width: float
    ) -> None:
        self.trial = trial
        self.build = build
        self.processes = 0
        self.seconds = 0.0
        self.ratio = Interval(1.0, 0.0, inf)
        self._context = context
        seconds = context.request.budget.seconds_per_measurement
        self._rule = StopRule(half_width, seconds, rounds=CONFIRMATION_ROUNDS)
        self._rounds = Rounds(counters=context.device.counters, is_sequential=True)
        self._output_check: OutputCheck | None = None

    def run_process(self) -> None:
        """Add the rounds of another process; the first one checks the candidate's outputs. The
        process is repeated while its baseline is off its level.

        Raises:
            CandidateFailed: the candidate does not build or run this time.
            WrongOutput: its outputs are beyond the limits this time.
            InfrastructureFailed: the baseline does not run any more.
        """
        context, candidate = self._context, self.trial.candidate
        if self.build is None:
            self.build = context.device.build(candidate.backend, candidate.options)
        if self.build.outcome != "measured":
            raise CandidateFailed(self.build.outcome, self.build.detail)
        context.close()
        started = context.clock.monotonic()
        measure = partial(self._measure, context, self.build)
        try:
            measure_on_level(context.level, self._rounds, measure, context.close)
        except BaselineFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        finally:
            context.close()
            self.seconds += context.clock.monotonic() - started
        self.processes += 1
        self.ratio = self._rounds.ratio()

    @property
    def is_precise(self) -> bool:
        """Whether the interval is narrow enough, over enough rounds without contention."""
        rounds = self._rounds
        return (
            self.processes >= FEWEST_PROCESSES
            and self.ratio.half_width <= self._rule.half_width
            and not is_disturbed(rounds.blocks, rounds.contended)
        )

    @property
    def is_proved(self) -> bool:
        """Whether the candidate is faster than the baseline, over enough rounds without
        contention."""
        return (
            self.processes >= FEWEST_PROCESSES
            and self.ratio.high < 1 - MARGIN
            and not is_disturbed(self._rounds.blocks, self._rounds.contended)
        )

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm of the ratio among processes; there must be two."""
        values = log_ratios(self._rounds.used)
        return float(np.std(values, ddof=1)) if len(values) > 1 else inf

    @property
    def relative_error(self) -> float | None:
        """As of :attr:`Trial.relative_error`: of the whole check in the first process, or of the
        trial before it."""
        checked = self._output_check
        if checked is None:
            return self.trial.relative_error
        return checked.deviation.relative_l2

    def is_slower_than(self, ratio: float) -> bool:
        """Whether every round so far was slower than ``ratio``."""
        return bool(min(round_ratios(self._rounds.blocks)) > ratio)

    def result(self) -> ConfirmedResult:
        """The result over all processes; there must have been one."""
        assert self.build is not None  # noqa: S101  the first process has set both
        assert self._output_check is not None  # noqa: S101
        measurement = self._rounds.measurement(self._rule)
        return ConfirmedResult(self.trial, self.build, measurement, self._output_check)

    def _measure(self, context: EvaluationContext, build: BuildResult) -> bool:
        with closing(context.open(self.trial.candidate, build, "candidate")) as session:
            if self._output_check is None:
                self._output_check = context.compare(session)
                context.require(self._output_check, build.tolerance)
            baseline, number = context.baseline_session(), self.processes
            measure_into(self._rounds, baseline, session, self._rule, context.clock, process=number)
        return True


def confirm(
    context: EvaluationContext, trial: Trial, build: BuildResult | None, effort: ConfirmationEffort
) -> ConfirmedResult:
    """Confirm one candidate, within ``effort``; ``build`` is as of :class:`Confirmation`. Raises as
    :meth:`Confirmation.run_process`."""
    confirmation = Confirmation(context, trial, build, effort.half_width)
    while confirmation.processes < effort.processes:
        done = confirmation.processes
        late = done and confirmation.seconds * (done + 1) / done > effort.seconds
        if done >= FEWEST_PROCESSES and (late or confirmation.is_precise):
            break
        confirmation.run_process()
    return confirmation.result()
