"""The builds whose throughput is measured, and how each is opened."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import Execution, Streams
from workers.engine.errors import CandidateFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.openbatch import OPEN_BATCH
from workers.engine.ports import Backend, Builder, Device
from workers.engine.queries.ports import BatchOpeningDevice, OpenedBatch, ParallelBackend
from workers.engine.queries.rows import QueryRows, rows_of, single_rows, whole_input
from workers.engine.search_result import SearchResult
from workers.engine.trials import Trial
from workers.engine.types import BuildResult, Candidate, TargetSpec

#: Most confirmed builds of a tolerance class.
_PER_CLASS = 2
#: Ratio of latency above which a build that is not confirmed is left out.
_WORTH = 1.5
#: Most further builds of the backends whose builds are confirmed.
_FURTHER = 2


@dataclass(frozen=True, slots=True)
class Subject:
    """A build of the search.

    Attributes:
        build: ``None`` if its files were deleted, or it is not made yet.
        builder: What builds it, if not the device of the search.
    """

    trial: Trial
    build: BuildResult | None
    builder: Builder | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A build with the options that it is opened with, and its streams."""

    trial: Trial
    build: BuildResult
    streams: Streams

    def candidate(self, batch: int) -> Candidate:
        """The configuration, with what it is opened with in place of the options of the build."""
        opened_with = self.build.runtime_options
        replaced = (self.trial.build or self.build).runtime_options.keys() - opened_with.keys()
        options = self.trial.candidate.options.items()
        others = {name: value for name, value in options if name not in replaced}
        changed = opened_with if self.is_opened_otherwise else {}
        execution = Execution(batch, self.streams)
        return Candidate(self.trial.candidate.backend, {**others, **changed, **execution.to_json()})

    @property
    def has_open_batch(self) -> bool:
        """Whether it was built from the network with an open batch."""
        return OPEN_BATCH in self.trial.candidate.options

    @property
    def is_opened_otherwise(self) -> bool:
        """Whether it is opened with other options than the search opened it with."""
        return self.build.runtime_options != (self.trial.build or self.build).runtime_options


def rows_and_subjects(
    context: EvaluationContext,
    device: Device,
    backends: Mapping[str, Backend],
    result: SearchResult,
    report: Callable[[str], None],
) -> tuple[QueryRows, list[Subject]]:
    """The samples of queries, and the builds that compute them. Those of a network of one row are
    built once more with an open batch, if the device can open it."""
    subjects, network = subjects_of(result, backends), context.request.network
    rows = rows_of(network, context.tests, context.reference)
    if rows is None and (opened := _opened_batch(device, report)) is not None:
        rows = single_rows(context.tests, context.reference)
        if rows is not None:
            subjects = with_open_batch(subjects, opened, backends, context.request.target)
    return rows or whole_input(context.tests), subjects


def _opened_batch(device: Device, report: Callable[[str], None]) -> OpenedBatch | None:
    """The network with an open batch; ``None``, with the reason in the progress, if it has none."""
    if not isinstance(device, BatchOpeningDevice):
        return None
    report("opening the batch")
    try:
        return device.open_batch()
    except CandidateFailed as failure:
        report(f"the batch stays fixed: {failure}")
        return None


def subjects_of(result: SearchResult, backends: Mapping[str, Backend]) -> list[Subject]:
    """The defaults, and the best confirmed builds of each class, strictest first. After the best
    exact build come the best exact trials of other backends that do not start a compiler, and of
    other builds of its own backend: they differ more from it than its own second build does, and
    what is as fast as the defaults with one sample may be faster with many."""
    confirmed = sorted(result.confirmed_results, key=lambda each: each.measurement.ratio.value)
    subjects = [Subject(result.baseline.trial, result.baseline.build)]
    for tolerance in TOLERANCES:
        of_class = [each for each in confirmed if each.build.tolerance == tolerance]
        own = [Subject(each.trial, each.build) for each in of_class[:_PER_CLASS]]
        others: list[Subject] = []
        if tolerance == TOLERANCES[0]:
            others = list(_others(result, backends, own))
        subjects += [*own[:1], *others, *own[1:]]
    return subjects


def with_open_batch(
    subjects: Sequence[Subject],
    opened: OpenedBatch,
    backends: Mapping[str, Backend],
    target: TargetSpec,
) -> list[Subject]:
    """The subjects, each followed by the same configuration of the network with an open batch. An
    option that only this network has gets the value of the backend's first such promise."""
    both: list[Subject] = []
    for subject in subjects:
        both.append(subject)
        candidate = subject.trial.candidate
        space = backends[candidate.backend].space(opened.network, target)
        options_set = candidate.options.items()
        promising = (each for each in space.promising if options_set <= each.items())
        if options := next(promising, space.nearest(candidate.options)):
            changed = Candidate(candidate.backend, {**options, OPEN_BATCH: True})
            both.append(Subject(replace(subject.trial, candidate=changed), None, opened.builder))
    return both


def variants_of(trial: Trial, build: BuildResult, backend: Backend, cores: int) -> list[Variant]:
    """How a build may be opened: for a stream on each core, which is mostly faster, and as it
    is."""
    variants: list[Variant] = []
    if cores > 1 and isinstance(backend, ParallelBackend):
        variants += [
            Variant(trial, replace(build, runtime_options=options), "cores")
            for options in backend.parallel(build.runtime_options)
        ]
    return [*variants, Variant(trial, build, "one")]


def _others(
    result: SearchResult, backends: Mapping[str, Backend], own: Sequence[Subject]
) -> Iterator[Subject]:
    """The fastest exact trial of each other build: first of all other backends, then of these."""
    candidates = [subject.trial.candidate for subject in own]
    default = result.baseline.trial.candidate
    names = {each.backend for each in (default, *candidates)}
    taken = {_build_of(each, backends) for each in candidates}
    exact = [
        (trial.candidate.backend in names, trial.ratio, trial.number, trial)
        for trial in result.trials
        if trial.outcome == "measured"
        and trial.tolerance == TOLERANCES[0]
        and trial.candidate != default
        and not backends[trial.candidate.backend].programs
        and trial.ratio is not None
        and trial.ratio <= _WORTH
    ]
    further = 0
    for is_further, _, _, trial in sorted(exact):
        candidate = trial.candidate
        build = _build_of(candidate, backends) if is_further else candidate.backend
        if build not in taken and further < _FURTHER:
            taken.add(build)
            further += is_further
            yield Subject(trial, None)


def _build_of(candidate: Candidate, backends: Mapping[str, Backend]) -> str:
    """The identity of what is built, however it is opened."""
    opening = backends[candidate.backend].opening
    built = {name: value for name, value in candidate.options.items() if name not in opening}
    return Candidate(candidate.backend, built).sha256
