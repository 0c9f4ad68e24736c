"""A published build in words, as the page of its model shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hub.pages import speedwords
from hub.templatetags.figures import latency
from hub.templatetags.speeds import default_latency
from registry.selectors.results.speed import InputShape, batch_of, context_of
from registry.tables import Build, Graph


@dataclass(frozen=True, slots=True)
class BuildWords:
    """A build in words.

    Attributes:
        speed: ``2.1 times as fast``.
        latency: Its median; of the default, that in the run with the fastest build.
        beside: What was measured in the same run: ``default 17.3 µs in the same run``.
        cost: ``answers differ by 1.4 %, accuracy 98.6 of 98.6 %``.
        measured_on: Input shapes and batch size of the measurement.
    """

    build: Build
    speed: str
    latency: str
    beside: str
    cost: str
    measured_on: str

    @property
    def share(self) -> str:
        """Latency in percent of the default's, at most 100, for a bar."""
        return speedwords.share(1.0 if self.build.is_baseline else self.build.ratio)


def words_of(
    build: Build, inputs: Sequence[InputShape], graph: Graph, best: Build | None
) -> BuildWords:
    """A build in words, of a target whose best build is ``best``.

    Times of different runs cannot be compared, so none of the default's own run is shown beside
    those of builds.
    """
    batch, context = batch_of(inputs, graph.signature["inputs"]), context_of(inputs)
    shapes = ", ".join(map(str, inputs))
    if context is not None:
        shapes = f"a further token after {context}"
    time, beside = latency(build.p50_ns), ""
    if not build.is_baseline:
        beside = f"default {default_latency(build)} in the same run"
    elif best is not None and not best.is_baseline:
        time, beside = default_latency(best), f"in the same run as the {best.tolerance} build"
    return BuildWords(
        build=build,
        speed="the default" if build.is_baseline else speedwords.speed(build.ratio),
        latency=time,
        beside=beside,
        cost=speedwords.cost(build),
        measured_on=f"{shapes}, batch {batch}" if batch is not None else shapes,
    )
