"""Measures a candidate of fast queries in rounds with the baseline, in fresh processes."""

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

from hpcfair.measurement.rounds import round_seconds
from hpcfair.measurement.types import Side
from hpcfair.precisions import Tolerance
from hpcfair.scenarios import Execution
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.measure import PairMeasurement
from workers.engine.numerics import OutputCheck
from workers.engine.queries.ports import QuerySession
from workers.engine.queries.rows import QueryRows
from workers.engine.queries.subjects import Variant
from workers.engine.queries.sweep import BatchSweep, ThroughputPoint
from workers.engine.rounds import Rounds, StopRule
from workers.engine.types import SampleQuery

#: Fresh processes of each side: at least, and at most.
_FEWEST_PROCESSES, _MOST_PROCESSES = 3, 8
#: Rounds in each process.
_ROUNDS = 3
#: Relative half-width of the ratio's interval at which a process stops.
_HALF_WIDTH = 0.01
#: Queries of a session before its first round.
_WARMUP_RUNS = 2


@dataclass(frozen=True, slots=True)
class QueryConfiguration:
    """A way to open a build, with its best point and all points that were measured.

    Attributes:
        open_s: Seconds that opening it took.
    """

    variant: Variant
    point: ThroughputPoint
    points: tuple[ThroughputPoint, ...]
    open_s: float = 0.0

    @property
    def tolerance(self) -> Tolerance:
        """Class of the build."""
        return self.variant.build.tolerance

    @property
    def execution(self) -> Execution:
        """Batch and streams of the best point."""
        return Execution(self.point.batch, self.variant.streams)


@dataclass(frozen=True, slots=True)
class QueryMeasurement:
    """A configuration's result: the configuration is that of ``confirmed.trial``."""

    confirmed: ConfirmedResult
    execution: Execution


def least_queries_s(query_s: float) -> float:
    """Seconds of one side's queries in the least number of processes, of ``query_s`` each."""
    return _FEWEST_PROCESSES * (_WARMUP_RUNS * query_s + _ROUNDS * round_seconds(query_s))


def least_seconds(
    context: EvaluationContext,
    rows: QueryRows,
    sweep: BatchSweep,
    baseline: QueryConfiguration,
    configuration: QueryConfiguration,
) -> float:
    """Estimate of the least time that :func:`measure_configuration` takes.

    It is to open both sides in the least number of processes, for their queries there, and for the
    check of the outputs.
    """
    ours, theirs = configuration.point, baseline.point
    samples = _samples(sweep, baseline, configuration)
    opening_s = _FEWEST_PROCESSES * (baseline.open_s + configuration.open_s)
    sides = (samples / point.throughput_per_s for point in (ours, theirs))
    checked = sum(rows.count_in(inputs) for inputs in context.tests.runs)
    check_s = (checked + samples) / ours.throughput_per_s
    return opening_s + sum(map(least_queries_s, sides)) + check_s


def measure_configuration(
    context: EvaluationContext,
    rows: QueryRows,
    sweep: BatchSweep,
    baseline: QueryConfiguration,
    configuration: QueryConfiguration,
    seconds: float,
) -> QueryMeasurement:
    """Measure a configuration against the baseline at its best batch, on equal queries.

    The duration of the first processes alone decides how many follow within ``seconds``, never
    their ratio: the interval of the ratio would not hold for a number that depends on it. The
    least number of processes runs in any case, each with the least number of rounds. Contention
    extends a process by what the ``seconds`` leave to it, other than that number of rounds.

    Raises CandidateFailed, WrongOutput: it does not run, or its outputs are beyond the limits of
    its class; BaselineFailed.
    """
    ours, theirs = configuration.point, baseline.point
    samples = _samples(sweep, baseline, configuration)
    typical_s: dict[Side, float] = {
        "baseline": samples / theirs.throughput_per_s,
        "candidate": samples / ours.throughput_per_s,
    }
    rule = StopRule(_HALF_WIDTH, max(seconds, 0.0) / _FEWEST_PROCESSES, rounds=_ROUNDS)
    rounds = Rounds(counters=context.device.counters)
    checked: OutputCheck | None = None
    started = context.clock.monotonic()
    for process in range(_MOST_PROCESSES):
        elapsed_s = context.clock.monotonic() - started
        if process >= _FEWEST_PROCESSES and elapsed_s * (process + 1) / process > seconds:
            break
        with ExitStack() as stack:
            candidate = _open(context, rows, configuration, "candidate", stack)
            candidate.query(sweep.query(samples, ours.batch, ours.streams))
            if checked is None:
                checked = _check(context, rows, candidate, configuration.tolerance)
            opposite = _open_baseline(
                context, rows, baseline, sweep.query(samples, theirs.batch, 1), stack
            )
            candidate.time(1, _WARMUP_RUNS - 1)
            left_s = started + seconds - context.clock.monotonic()
            pair = PairMeasurement(
                rounds, opposite, candidate, context.clock, process=process, typical_s=typical_s
            )
            pair.measure(replace(rule, most_seconds=left_s / max(1, _FEWEST_PROCESSES - process)))
    assert checked is not None  # noqa: S101  the first process has set it
    measured = rounds.measurement(rule)
    protocol = {**measured.protocol, **_protocol(sweep, baseline, configuration, samples)}
    trial = replace(
        configuration.variant.trial,
        candidate=configuration.variant.candidate(ours.batch),
        proposed_by=sweep.scenario,
        build=configuration.variant.build,
    )
    confirmed = ConfirmedResult(
        trial, configuration.variant.build, replace(measured, protocol=protocol), checked
    )
    return QueryMeasurement(confirmed, configuration.execution)


def _samples(
    sweep: BatchSweep, baseline: QueryConfiguration, configuration: QueryConfiguration
) -> int:
    """Samples of a query of both sides."""
    ours, theirs = configuration.point, baseline.point
    return sweep.samples(ours.batch * ours.streams, theirs.batch, per_s=theirs.throughput_per_s)


def _protocol(
    sweep: BatchSweep,
    baseline: QueryConfiguration,
    configuration: QueryConfiguration,
    samples: int,
) -> dict[str, Any]:
    """Members of ``protocol`` of ``hpcfair.bench/1``."""
    ours, theirs = configuration.point, baseline.point
    own = () if configuration is baseline else configuration.points
    return {
        "scenario": sweep.scenario,
        "samples_per_run": samples,
        "batch": {"baseline": theirs.batch, "candidate": ours.batch},
        "streams": {"baseline": theirs.streams, "candidate": ours.streams},
        "sweep": [point.as_dict() for point in (*baseline.points, *own)],
        "warmup_runs": _WARMUP_RUNS,
    }


def _check(
    context: EvaluationContext, rows: QueryRows, session: QuerySession, tolerance: Tolerance
) -> OutputCheck:
    """Check a build on a query, and run by run, as in a search. The query comes first: runtimes
    that compile a network for few shapes only must have its batch among them."""
    rows.require(session.answer(), tolerance, context.baseline_deviation)
    checked = context.compare(session)
    context.require(checked, tolerance)
    return checked


def _open(
    context: EvaluationContext,
    rows: QueryRows,
    configuration: QueryConfiguration,
    role: str,
    stack: ExitStack,
) -> QuerySession:
    backend, build = configuration.variant.trial.candidate.backend, configuration.variant.build
    session = stack.enter_context(closing(context.device.open(backend, build, role, rows.inputs)))
    assert isinstance(session, QuerySession)  # noqa: S101  the exploration has seen it
    return session


def _open_baseline(
    context: EvaluationContext,
    rows: QueryRows,
    baseline: QueryConfiguration,
    query: SampleQuery,
    stack: ExitStack,
) -> QuerySession:
    try:
        session = _open(context, rows, baseline, "baseline", stack)
        session.query(query)
        session.time(1, _WARMUP_RUNS - 1)
    except CandidateFailed as error:
        raise BaselineFailed(error.outcome, str(error)) from error
    return session
