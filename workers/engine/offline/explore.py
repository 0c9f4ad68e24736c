"""Finds the configurations of the highest throughput, after a search for the lowest latency.

::

    baseline         the runtime's defaults, with each batch; its best batch is the baseline
    candidates       the defaults and the best builds, each opened as it is and for a stream on each
                     core, with few batches
    configurations   of each tolerance class the fastest one, in rounds with the baseline, in fresh
                     processes, on queries of one size

The candidates share half of the time; the rounds get the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.clock import Clock, SystemClock
from workers.engine.errors import BaselineFailed, CandidateFailed, InfrastructureFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.offline.configuration import (
    OfflineConfiguration,
    OfflineMeasurement,
    measure_configuration,
)
from workers.engine.offline.ports import QuerySession
from workers.engine.offline.rows import QueryRows, rows_of, whole_input
from workers.engine.offline.subjects import Subject, Variant, subjects_of, variants_of
from workers.engine.offline.sweep import BatchSweep, ThroughputPoint, chosen
from workers.engine.ports import Backend, Device, PhaseTime, Progress, no_progress
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.types import BuildResult

#: Share of the time that the candidates get, and the least gain of a configuration.
_EXPLORED, _LEAST_GAIN = 0.5, 1.02
#: Samples of a complete measurement of the baseline and one candidate, in all batches.
_LEAST_SAMPLES = 400


class NotMeasured(Exception):
    """The throughput is not measured; the message says why."""


@dataclass(frozen=True, slots=True)
class OfflineResult:
    """The throughput of a network's builds.

    Attributes:
        baseline: The defaults at their best batch, measured against themselves.
        configurations: Of each class the fastest, strictest class first, whatever the verdict.
        rows: Samples of the queries.
    """

    baseline: OfflineMeasurement
    configurations: tuple[OfflineMeasurement, ...]
    rows: QueryRows


def measure_offline(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    result: SearchResult,
    seconds: float,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> OfflineResult:
    """Measure the throughput of the builds of a search.

    Args:
        device: Must be open; holds the builds of ``result``.
        seconds: Budget, without the time to start.

    Raises:
        NotMeasured: batches and streams are of no use here, or the time does not suffice.
        ReferenceFailed, InfrastructureFailed: as :func:`workers.engine.tune.tune`.
        LeaseLost, Cancelled: from ``progress``.
    """
    clock = clock or SystemClock()
    reference = backends[request.reference_backend]
    baseline = backends[request.baseline_backend or request.reference_backend]
    sample_s = result.baseline.measurement.candidate_p50_ns / 1e9
    if sample_s * _LEAST_SAMPLES > seconds:
        raise NotMeasured(
            f"the throughput is not measured: with {sample_s:.2g} s a sample it would take more "
            f"than the {seconds:.0f} s there are"
        )
    progress("offline", 0, None, "running the reference")
    with EvaluationContext(request, reference, device, clock, baseline) as context:
        rows = rows_of(request.network, context.tests, context.reference)
        rows = rows or whole_input(context.tests)
        explorer = _Explorer(context, backends, rows, sample_s, seconds, progress)
        return explorer.explore(subjects_of(result, backends))


class _Explorer:
    """The state of one exploration."""

    def __init__(
        self,
        context: EvaluationContext,
        backends: Mapping[str, Backend],
        rows: QueryRows,
        sample_s: float,
        seconds: float,
        progress: Progress,
    ) -> None:
        self._context = context
        self._backends = backends
        self._rows = rows
        self._cores = context.request.target.cores
        self._seconds = seconds
        self._progress = progress
        self._started_s = context.clock.monotonic()
        self._sweep = BatchSweep(context.clock, rows.largest_batch, sample_s, by_row=rows.by_row)
        if self._cores == 1 and not rows.by_row:
            raise NotMeasured("the network takes no batches, and one core has no use of streams")

    def explore(self, subjects: Sequence[Subject]) -> OfflineResult:
        """See :func:`measure_offline`."""
        context = self._context
        context.close()
        own = Variant(subjects[0].trial, context.baseline_build, "one")
        self._report("the defaults", 0)
        try:
            with self._opened(own, "baseline") as session:
                points = self._sweep.of_baseline(session)
        except CandidateFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        best = chosen(points)
        baseline = OfflineConfiguration(own, best, tuple(points))
        configurations = self._candidates(subjects, best)
        measurements: list[OfflineMeasurement] = []
        for tolerance in TOLERANCES:
            configuration = _fastest(configurations, tolerance, best.throughput_per_s)
            if configuration is not None:
                measured = self._measured(baseline, configuration, len(measurements) + 1)
                measurements += [measured] if measured else []
        again = self._measured(baseline, baseline, len(measurements) + 1)
        if again is None:
            raise NotMeasured("the defaults give other outputs in batches")
        return OfflineResult(again, tuple(measurements), self._rows)

    def _candidates(
        self, subjects: Sequence[Subject], best: ThroughputPoint
    ) -> list[OfflineConfiguration]:
        """The best points of all variants that there was time for."""
        configurations: list[OfflineConfiguration] = []
        for variant in self._variants(subjects):
            # The defaults as they are were measured as the baseline.
            if variant.streams == "one" and variant.trial is subjects[0].trial:
                continue
            self._report(variant.candidate(best.batch).name, len(configurations))
            count = self._cores if variant.streams == "cores" else 1
            try:
                with self._opened(variant, "candidate") as session:
                    points = self._sweep.of_candidate(
                        session, count, best.throughput_per_s, self._end_s(_EXPLORED)
                    )
            except CandidateFailed as error:
                self._report(f"{variant.trial.candidate.name} failed: {error}", len(configurations))
                continue
            configurations.append(OfflineConfiguration(variant, chosen(points), tuple(points)))
        return configurations

    def _variants(self, subjects: Sequence[Subject]) -> Iterator[Variant]:
        for subject in subjects:
            if self._context.clock.monotonic() > self._end_s(_EXPLORED):
                return
            candidate = subject.trial.candidate
            build = subject.build or self._built(subject)
            if build is not None and build.directory is not None:
                backend = self._backends[candidate.backend]
                yield from variants_of(subject.trial, build, backend, self._cores)

    def _built(self, subject: Subject) -> BuildResult | None:
        candidate = subject.trial.candidate
        build = self._context.device.build(candidate.backend, candidate.options)
        return build if build.outcome == "measured" else None

    def _measured(
        self, baseline: OfflineConfiguration, configuration: OfflineConfiguration, number: int
    ) -> OfflineMeasurement | None:
        """The measurement of a configuration; ``None`` if it fails."""
        self._report(f"measuring {configuration.variant.trial.candidate.name}", number)
        left_s = self._end_s() - self._context.clock.monotonic()
        try:
            return measure_configuration(
                self._context, self._rows, self._sweep, baseline, configuration, left_s
            )
        except (CandidateFailed, WrongOutput) as error:
            self._report(f"{configuration.variant.trial.candidate.name} failed: {error}", number)
            return None
        except BaselineFailed as error:
            raise InfrastructureFailed(f"the baseline failed: {error}") from error
        finally:
            self._context.close()

    @contextmanager
    def _opened(self, variant: Variant, role: str) -> Iterator[QuerySession]:
        backend = variant.trial.candidate.backend
        device, rows = self._context.device, self._rows.inputs
        with closing(device.open(backend, variant.build, role, rows)) as session:
            if not isinstance(session, QuerySession):
                raise NotMeasured("this device computes one sample at a time")
            yield session

    def _end_s(self, share: float = 1.0) -> float:
        """Time of the clock at which a share of the budget is used."""
        return self._started_s + share * self._seconds

    def _report(self, message: str, done: int) -> None:
        """Report progress. The callback may wait until the machine is quiet, which is free."""
        before_s = self._context.clock.monotonic()
        time = PhaseTime(before_s - self._started_s, self._seconds)
        self._progress("offline", done, None, message, time)
        self._started_s += self._context.clock.monotonic() - before_s


def _fastest(
    configurations: Sequence[OfflineConfiguration], tolerance: Tolerance, baseline: float
) -> OfflineConfiguration | None:
    """The fastest of a class, unless the defaults or a stricter class are practically as fast."""
    stricter = TOLERANCES[: TOLERANCES.index(tolerance)]
    rivals = [each.point.throughput_per_s for each in configurations if each.tolerance in stricter]
    of_class = [each for each in configurations if each.tolerance == tolerance]
    best = max(of_class, key=lambda each: each.point.throughput_per_s, default=None)
    limit = _LEAST_GAIN * max(baseline, *rivals) if rivals else _LEAST_GAIN * baseline
    return best if best is not None and best.point.throughput_per_s > limit else None
