"""Finds the configurations that answer queries soonest, after a search for the lowest latency.

::

    baseline         the runtime's defaults, with each batch; its best batch is the baseline
    screening        the defaults and the best builds, each opened for a stream on each core and as
                     it is, with few batches
    configurations   of each tolerance class the fastest one that is proved, in rounds with the
                     baseline, in fresh processes, on queries of one size

The screening gets half of the time, of which most is for exact builds; the rounds get the rest, but
for what the second measurement of the baseline takes. Each class gets half of what is left. Nothing
begins that would probably end after the time: its least duration is estimated from the throughput
in the screening.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.scenarios import MULTI_STREAM_SAMPLES, Scenario
from workers.engine.clock import Clock, SystemClock
from workers.engine.errors import BaselineFailed, CandidateFailed, InfrastructureFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import Backend, Device, PhaseTime, Progress, no_progress
from workers.engine.queries.configuration import (
    QueryConfiguration,
    QueryMeasurement,
    least_queries_s,
    least_seconds,
    measure_configuration,
)
from workers.engine.queries.errors import NotMeasured
from workers.engine.queries.rows import QueryRows
from workers.engine.queries.screening import Screening, fast_with_small_batches, fastest_of
from workers.engine.queries.subjects import Subject, Variant, rows_and_subjects, subjects_of
from workers.engine.queries.sweep import BatchSweep, samples_of_query
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult

#: Share of the time after which the screening ends: of the baseline's batches, of exact builds,
#: and of all.
_BASELINE_SCREENED, _EXACT_SCREENED, _SCREENED = 0.15, 0.35, 0.5
#: Share of the time left that the rounds of a class get, unless it is the last one.
_OF_CLASS = 0.5
#: Sides whose queries are timed at least: a candidate and the baseline, then the baseline twice.
_LEAST_SIDES = 4


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The queries of a scenario with a network's builds.

    Attributes:
        baseline: The defaults at their best batch, measured against themselves.
        configurations: Of each class the fastest, strictest class first, whatever the verdict.
        rows: Samples of the queries.
        screened: What all of them were chosen from.
    """

    baseline: QueryMeasurement
    configurations: tuple[QueryMeasurement, ...]
    rows: QueryRows
    screened: tuple[QueryConfiguration, ...]


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """What is to be measured.

    Attributes:
        scenario: ``multi-stream`` or ``offline``.
        seconds: Budget, without the time to start.
        before: The same network's result in a scenario of larger queries, after which only the ways
            to open builds are screened that were the fastest with small batches.
    """

    scenario: Scenario
    seconds: float
    before: QueryResult | None = None


def measure_queries(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    result: SearchResult,
    queries: QueryRequest,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> QueryResult:
    """Measure queries with the builds of a search, which the open ``device`` holds.

    Raises:
        NotMeasured: batches and streams are of no use here, or the time does not suffice.
        ReferenceFailed, InfrastructureFailed: as :func:`workers.engine.tune.tune`.
        LeaseLost, Cancelled: from ``progress``.
    """
    clock = clock or SystemClock()
    scenario, seconds, before = queries.scenario, queries.seconds, queries.before
    reference = backends[request.reference_backend]
    baseline = backends[request.baseline_backend or request.reference_backend]
    sample_s = result.baseline.measurement.candidate_p50_ns / 1e9
    rounds_s = _LEAST_SIDES * least_queries_s(sample_s * (samples_of_query(scenario) or 1))
    if rounds_s > seconds:
        reason = f"with {sample_s:.2g} s a sample, {seconds:.0f} s do not suffice to prove a gain"
        raise NotMeasured(reason, rounds_s / (1 - _SCREENED))
    left_s = (1 - _SCREENED) * seconds
    report = partial(progress, scenario, 0, None)
    report("running the reference")
    with EvaluationContext(request, reference, device, clock, baseline) as context:
        variants: list[Variant] = []
        if before is None:
            rows, subjects = rows_and_subjects(context, device, backends, result, report)
        else:
            rows, subjects = before.rows, subjects_of(result, backends)
            variants = fast_with_small_batches(before.screened, MULTI_STREAM_SAMPLES)
        if request.target.cores == 1 and not rows.by_row:
            raise NotMeasured("the network takes no batches, and one core has no use of streams")
        sweep = BatchSweep(
            clock,
            scenario,
            rows.largest_batch,
            rows.largest_query,
            sample_s,
            by_row=rows.by_row,
            is_affordable=lambda query_s: _LEAST_SIDES * least_queries_s(query_s) <= left_s,
        )
        explorer = _Explorer(context, backends, rows, sweep, seconds, progress)
        return explorer.explore(subjects, variants)


class _Explorer:
    """The state of one exploration."""

    def __init__(
        self,
        context: EvaluationContext,
        backends: Mapping[str, Backend],
        rows: QueryRows,
        sweep: BatchSweep,
        seconds: float,
        progress: Progress,
    ) -> None:
        self._context = context
        self._backends = backends
        self._rows, self._sweep = rows, sweep
        self._seconds, self._reserved_s = seconds, 0.0
        self._progress = progress
        self._started_s = context.clock.monotonic()

    def explore(self, subjects: Sequence[Subject], variants: Sequence[Variant]) -> QueryResult:
        """See :func:`measure_queries`."""
        self._context.close()
        screening = Screening(self._context, self._backends, self._rows, self._sweep, self._report)
        try:
            baseline = screening.baseline(subjects[0], _BASELINE_SCREENED * self._seconds)
        except CandidateFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        again_s = self._least_s(baseline, baseline)
        self._reserved_s = 2 * again_s
        chosen = variants or screening.variants(subjects, self._deadline)
        screened = screening.configurations(chosen, baseline, self._deadline)
        defaults_per_s = baseline.point.throughput_per_s
        by_class = [fastest_of(screened, each, defaults_per_s) for each in TOLERANCES]
        by_class = [fastest for fastest in by_class if fastest]
        measurements: list[QueryMeasurement] = []
        refused = 0 if screened else screening.left_out
        for number, fastest in enumerate(by_class, 1):
            left_s = self._left_s - again_s
            short = [each for each in fastest if self._least_s(baseline, each) <= left_s]
            refused += len(fastest) - len(short)
            if not short:
                self._report(f"no time is left for {fastest[0].tolerance}", number)
                continue
            share = 1.0 if number == len(by_class) else _OF_CLASS
            # At least what its first build needs, even if lower precisions then get nothing.
            seconds = max(share * left_s, self._least_s(baseline, short[0]))
            measured = self._best(baseline, short, seconds, number)
            measurements += [measured] if measured else []
        if refused and not measurements:
            reason = f"{self._seconds:.0f} s do not suffice to prove a gain"
            raise NotMeasured(reason, 2 * self._seconds)
        again = self._measured(baseline, baseline, len(by_class) + 1, again_s)
        if again is None:
            raise NotMeasured("the defaults give other outputs in batches")
        return QueryResult(again, tuple(measurements), self._rows, tuple(screened))

    def _least_s(self, baseline: QueryConfiguration, configuration: QueryConfiguration) -> float:
        return least_seconds(self._context, self._rows, self._sweep, baseline, configuration)

    def _best(
        self,
        baseline: QueryConfiguration,
        fastest: Sequence[QueryConfiguration],
        seconds: float,
        number: int,
    ) -> QueryMeasurement | None:
        """The first build of a class that is proved to be faster than the defaults, else the one of
        the smallest ratio; another one follows as long as ``seconds`` are left."""
        end_s = self._context.clock.monotonic() + seconds
        best: QueryMeasurement | None = None
        for rank, configuration in enumerate(fastest):
            left_s = end_s - self._context.clock.monotonic()
            if rank and self._least_s(baseline, configuration) > left_s:
                continue
            own_s = left_s / (len(fastest) - rank)
            measured = self._measured(baseline, configuration, number, own_s)
            if measured is None:
                continue
            if measured.confirmed.measurement.verdict == "faster":
                return measured
            best = min(best or measured, measured, key=_ratio)
        return best

    def _measured(
        self,
        baseline: QueryConfiguration,
        configuration: QueryConfiguration,
        number: int,
        seconds: float,
    ) -> QueryMeasurement | None:
        """The measurement of a configuration; ``None`` if it fails."""
        name = configuration.variant.candidate(configuration.point.batch).name
        self._report(f"measuring {name}", number)
        try:
            return measure_configuration(
                self._context, self._rows, self._sweep, baseline, configuration, seconds
            )
        except (CandidateFailed, WrongOutput) as error:
            self._report(f"{name} failed: {error}", number)
            return None
        except BaselineFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        finally:
            self._context.close()

    @property
    def _left_s(self) -> float:
        """Seconds of the budget that are left."""
        return self._started_s + self._seconds - self._context.clock.monotonic()

    def _deadline(self, tolerance: Tolerance) -> float:
        """Time of the clock at which the screening of a class ends."""
        share = _EXACT_SCREENED if tolerance == TOLERANCES[0] else _SCREENED
        return self._started_s + min(share * self._seconds, self._seconds - self._reserved_s)

    def _report(self, message: str, done: int) -> None:
        """Report progress. The callback may wait until the machine is quiet, which is free."""
        before_s = self._context.clock.monotonic()
        time = PhaseTime(before_s - self._started_s, self._seconds)
        self._progress(self._sweep.scenario, done, None, message, time)
        self._started_s += self._context.clock.monotonic() - before_s


def _ratio(measured: QueryMeasurement) -> float:
    return measured.confirmed.measurement.ratio.value
