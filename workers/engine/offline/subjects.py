"""The builds whose throughput is measured, and how each is opened."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import Execution, Streams
from workers.engine.offline.ports import ParallelBackend
from workers.engine.ports import Backend
from workers.engine.search_result import SearchResult
from workers.engine.trials import Trial
from workers.engine.types import BuildResult, Candidate

#: Most confirmed builds of a tolerance class.
_PER_CLASS = 2
#: Ratio of latency above which a build of another backend is left out.
_WORTH = 1.5


@dataclass(frozen=True, slots=True)
class Subject:
    """A build of the search; ``build`` is ``None`` if its files were deleted."""

    trial: Trial
    build: BuildResult | None


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
    def is_opened_otherwise(self) -> bool:
        """Whether it is opened with other options than the search opened it with."""
        return self.build.runtime_options != (self.trial.build or self.build).runtime_options


def subjects_of(result: SearchResult, backends: Mapping[str, Backend]) -> list[Subject]:
    """The defaults, and the best confirmed builds of each class, strictest first. The best exact
    trial of each other backend that does not start a compiler follows the best exact build: another
    backend differs more from it than its own second build does."""
    confirmed = sorted(result.confirmed_results, key=lambda each: each.measurement.ratio.value)
    subjects = [Subject(result.baseline.trial, result.baseline.build)]
    for tolerance in TOLERANCES:
        of_class = [each for each in confirmed if each.build.tolerance == tolerance]
        own = [Subject(each.trial, each.build) for each in of_class[:_PER_CLASS]]
        others: list[Subject] = []
        if tolerance == TOLERANCES[0]:
            names = {subject.trial.candidate.backend for subject in own}
            others = list(_others(result, backends, names))
        subjects += [*own[:1], *others, *own[1:]]
    return subjects


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
    result: SearchResult, backends: Mapping[str, Backend], names: set[str]
) -> Iterator[Subject]:
    measured: Sequence[Trial] = [
        trial
        for trial in result.trials
        if trial.outcome == "measured"
        and trial.tolerance == TOLERANCES[0]
        and trial.candidate != result.baseline.trial.candidate
    ]
    for name, backend in backends.items():
        own = [trial for trial in measured if trial.candidate.backend == name]
        fast = [trial for trial in own if trial.ratio is not None and trial.ratio <= _WORTH]
        if name not in names and fast and not backend.programs:
            yield Subject(min(fast, key=lambda trial: trial.ratio or _WORTH), None)
