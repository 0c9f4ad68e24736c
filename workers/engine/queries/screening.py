"""Times every way to open the builds of a search, with few batches each: the screening."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice, zip_longest

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.errors import CandidateFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.openbatch import OPEN_BATCH
from workers.engine.ports import Backend
from workers.engine.queries.configuration import QueryConfiguration
from workers.engine.queries.errors import NotMeasured
from workers.engine.queries.ports import QuerySession
from workers.engine.queries.rows import QueryRows
from workers.engine.queries.subjects import Subject, Variant, variants_of
from workers.engine.queries.sweep import BatchSweep, chosen
from workers.engine.types import BuildResult

#: Least gain of a configuration over the defaults and over those of stricter classes.
_LEAST_GAIN = 1.02
#: Share of the fastest configuration's throughput from which the next one is measured as well:
#: a screening of three runs is wrong by as much.
_CLOSE, _MOST_PER_CLASS = 0.85, 2

#: Receives what is being done, and the number of configurations so far.
Report = Callable[[str, int], None]
#: When the screening of the builds of a class ends, by the engine's clock.
Deadline = Callable[[Tolerance], float]


class Screening:
    """The screening of one network's builds.

    Attributes:
        left_out: Number of builds, or ways to open one, for which there was no time.
    """

    def __init__(
        self,
        context: EvaluationContext,
        backends: Mapping[str, Backend],
        rows: QueryRows,
        sweep: BatchSweep,
        report: Report,
    ) -> None:
        self._context, self._clock = context, context.clock
        self._backends = backends
        self._rows = rows
        self._sweep = sweep
        self._report = report
        self._cores = context.request.target.cores
        self.left_out = 0

    def baseline(self, defaults: Subject, seconds: float) -> QueryConfiguration:
        """The defaults at the best of the batches that can be measured in ``seconds``. Raises
        CandidateFailed."""
        own, clock = Variant(defaults.trial, self._context.baseline_build, "one"), self._clock
        self._report("the defaults", 0)
        started_s = clock.monotonic()
        with self._opened(own, "baseline") as session:
            opened_s = clock.monotonic()
            points = self._sweep.of_baseline(
                session, opened_s + seconds, is_open=self._rows.is_open
            )
        return QueryConfiguration(own, chosen(points), tuple(points), opened_s - started_s)

    def variants(self, subjects: Sequence[Subject], deadline_of: Deadline) -> Iterator[Variant]:
        """Those of ``subjects``, which begin with the defaults, that there is time for.

        The first variant of the first build of each class precedes all others, so that no class
        stays without a configuration where stricter ones need the time.
        """
        leading = [(subject, 1) for subject in _first_of_each_class(subjects)]
        for subject, most in [*leading, *((subject, None) for subject in subjects)]:
            yield from islice(self._variants(subject, deadline_of), most)

    def configurations(
        self, variants: Iterable[Variant], baseline: QueryConfiguration, deadline_of: Deadline
    ) -> list[QueryConfiguration]:
        """The best points of ``variants``, as far as there is time for them."""
        screened: list[QueryConfiguration] = []
        names = {baseline.variant.candidate(1).sha256}
        for variant in variants:
            # Builds that differ in options that are replaced are opened alike.
            name = variant.candidate(1).sha256
            if name in names:
                continue
            names.add(name)
            self._report(variant.candidate(baseline.point.batch).name, len(screened))
            try:
                screened += self._screened(variant, baseline, deadline_of(variant.build.tolerance))
            except CandidateFailed as error:
                message = f"{variant.trial.candidate.name} failed: {error}"
                self._report(message, len(screened))
        return screened

    def _screened(
        self, variant: Variant, baseline: QueryConfiguration, deadline: float
    ) -> list[QueryConfiguration]:
        """The configuration of a variant; none if there is no time for it."""
        count = self._cores if variant.streams == "cores" else 1
        started_s = self._clock.monotonic()
        with self._opened(variant, "candidate") as session:
            opened_s = self._clock.monotonic()
            points = self._sweep.of_candidate(
                session,
                count,
                baseline.points,
                deadline,
                is_open=self._rows.is_open or variant.has_open_batch,
            )
        if not points:
            self.left_out += 1
            return []
        best = chosen(points)
        return [QueryConfiguration(variant, best, tuple(points), opened_s - started_s)]

    def _variants(self, subject: Subject, deadline_of: Deadline) -> Iterator[Variant]:
        trial, clock = subject.trial, self._clock
        # Calibration may take longer than what is left.
        seconds = trial.build.compile_s if trial.build and not subject.build else 0.0
        if clock.monotonic() + seconds > deadline_of(trial.tolerance):
            self.left_out += 1
            return
        build = subject.build or self._built(subject)
        if build is None or build.directory is None:
            return
        if subject.builder is not None:
            trial = replace(trial, build=build)
        backend = self._backends[trial.candidate.backend]
        for variant in variants_of(trial, build, backend, self._cores):
            if clock.monotonic() > deadline_of(trial.tolerance):
                self.left_out += 1
                return
            yield variant

    def _built(self, subject: Subject) -> BuildResult | None:
        candidate = subject.trial.candidate
        options = {name: v for name, v in candidate.options.items() if name != OPEN_BATCH}
        builder = subject.builder or self._context.device
        build = builder.build(candidate.backend, options)
        if build.outcome != "measured":
            return None
        if subject.builder is None:
            return build
        return replace(build, provenance=build.provenance | {OPEN_BATCH: True})

    @contextmanager
    def _opened(self, variant: Variant, role: str) -> Iterator[QuerySession]:
        backend = variant.trial.candidate.backend
        device, rows = self._context.device, self._rows.inputs
        with closing(device.open(backend, variant.build, role, rows)) as session:
            if not isinstance(session, QuerySession):
                raise NotMeasured("this device computes one sample at a time")
            yield session


def _first_of_each_class(subjects: Sequence[Subject]) -> list[Subject]:
    """The defaults, and of each class the first build."""
    defaults, *others = subjects
    first: dict[Tolerance, Subject] = {}
    for subject in others:
        first.setdefault(subject.trial.tolerance, subject)
    return [defaults, *first.values()]


def fast_with_small_batches(
    configurations: Sequence[QueryConfiguration], largest: int
) -> list[Variant]:
    """The variants of each class that were the fastest with batches of at most ``largest`` samples:
    first the best of each class, strictest class first."""

    def per_s(configuration: QueryConfiguration) -> float:
        # The first point of each is of batch 1.
        points = configuration.points
        return max(point.throughput_per_s for point in points if point.batch <= largest)

    fast = sorted(configurations, key=per_s, reverse=True)
    by_class = [
        [each.variant for each in fast if each.tolerance == tolerance][:_MOST_PER_CLASS]
        for tolerance in TOLERANCES
    ]
    return [variant for rank in zip_longest(*by_class) for variant in rank if variant is not None]


def fastest_of(
    configurations: Sequence[QueryConfiguration], tolerance: Tolerance, baseline: float
) -> list[QueryConfiguration]:
    """The fastest configurations of a class, best first: none if the defaults or a stricter class
    are practically as fast, several if a screening cannot tell them apart."""
    stricter = TOLERANCES[: TOLERANCES.index(tolerance)]
    rivals = [each.point.throughput_per_s for each in configurations if each.tolerance in stricter]
    limit = _LEAST_GAIN * max(baseline, *rivals) if rivals else _LEAST_GAIN * baseline
    of_class = [each for each in configurations if each.tolerance == tolerance]
    fast = sorted(of_class, key=lambda each: each.point.throughput_per_s, reverse=True)
    least = max(limit, _CLOSE * fast[0].point.throughput_per_s) if fast else limit
    return [each for each in fast if each.point.throughput_per_s > least][:_MOST_PER_CLASS]
