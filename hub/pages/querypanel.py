"""A model on one target in the scenarios of queries, as its page shows them beside the latency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from hub.pages import snippets, speedwords
from hub.pages.chart import Chart
from hub.pages.chart.throughput import throughput_by_batch
from hub.pages.snippets import Snippet
from hub.pages.ways import is_closed
from hub.templatetags.figures import latency
from registry.scenarios import Scenario
from registry.selectors.results.queries import (
    UnmeasuredQueries,
    query_builds,
    unmeasured_queries,
)
from registry.selectors.results.speed import InputShape, batch_of
from registry.states import Verdict
from registry.tables import Build, Graph, MLModel, Record


@dataclass(frozen=True, slots=True)
class _Words:
    """How a page speaks of a scenario.

    Attributes:
        anchor: Of its section.
        samples: What arrives, in a sentence.
        arrival: The same in a sentence of its own, with when it arrives.
        unit: What follows a figure of a build.
    """

    anchor: str
    title: str
    samples: str
    arrival: str
    unit: str = ""


_WORDS = {
    Scenario.OFFLINE: _Words(
        "throughput", "Offline throughput", "many samples", "Many samples at once"
    ),
    Scenario.MULTI_STREAM: _Words(
        "queries",
        "Queries of eight samples",
        "such queries",
        "Eight samples at once, the next eight when these have returned",
        " a query",
    ),
}


@dataclass(frozen=True, slots=True)
class QueryOffer:
    """The build of a tolerance class that answers queries soonest.

    Attributes:
        speed: ``2.1 times as fast``, as the default at its best batch.
        figure: Such as ``1,240 samples/s``, or ``6.45 ms a query``.
        default: That of the default in the same run; "" of the default itself.
        execution: Such as ``batch 16, one stream per core``.
        snippets: Programs that load it and run many samples.
    """

    build: Build
    speed: str
    figure: str
    default: str
    execution: str
    snippets: list[Snippet]


@dataclass(frozen=True, slots=True)
class QueryPanel:
    """Offers in a scenario of queries.

    Attributes:
        default_execution: How the defaults are at their best.
        is_default_best: Whether no build is proved faster.
        unproved: Sentences on the builds that were measured and are not proved faster.
    """

    scenario: Scenario
    words: _Words
    default_execution: str
    offers: list[QueryOffer]
    is_default_best: bool
    unproved: list[str]
    chart: Chart | None


@dataclass(frozen=True, slots=True)
class UnmeasuredPanel:
    """What is shown in place of a :class:`QueryPanel`.

    Attributes:
        snippets: The command that searches again; empty if no search can measure it.
    """

    words: _Words
    unmeasured: UnmeasuredQueries
    snippets: list[Snippet]


def query_panel(
    mlmodel: MLModel, graph: Graph, revision_name: str, target: str, scenario: Scenario
) -> QueryPanel | None:
    """The panel of a network on a target (slug); ``None`` if the scenario is not measured.

    Args:
        revision_name: As people wrote it; "" for the default branch.
    """
    measured = query_builds(graph, target, scenario)
    if measured is None:
        return None
    example = _one_row(measured.inputs, graph)
    offers = [
        QueryOffer(
            build=build,
            speed="the default" if build.is_baseline else speedwords.speed(build.ratio),
            figure=f"{_figure(build)}{_WORDS[scenario].unit}",
            default="" if build.is_baseline else _figure(build, build.ratio),
            execution=speedwords.execution(build),
            snippets=snippets.load(
                settings.HUB_URL,
                mlmodel.full_name,
                revision=revision_name,
                runtime=build.runtime,
                limits={"tolerance": build.tolerance},
                inputs=example,
                scenario=scenario,
                sign_in=is_closed(mlmodel),
            ),
        )
        for build in measured.offers
    ]
    is_offline = scenario == Scenario.OFFLINE
    return QueryPanel(
        scenario=scenario,
        words=_WORDS[scenario],
        default_execution=speedwords.execution(measured.default),
        offers=offers,
        is_default_best=measured.best.is_baseline,
        unproved=[_unproved(record) for record in measured.unproved],
        chart=throughput_by_batch(measured.points) if is_offline else None,
    )


def unmeasured_panel(
    mlmodel: MLModel, graph: Graph, revision_name: str, target: str, scenario: Scenario
) -> UnmeasuredPanel | None:
    """Why :func:`query_panel` is ``None``, with the next step; ``None`` before the end of a
    search."""
    unmeasured = unmeasured_queries(graph, target, scenario)
    if unmeasured is None:
        return None
    again: list[Snippet] = []
    if unmeasured.budget_s is not None:
        again = snippets.tune(
            settings.HUB_URL,
            mlmodel.full_name,
            target=target,
            budget_s=unmeasured.budget_s,
            revision=revision_name,
        )
    return UnmeasuredPanel(_WORDS[scenario], unmeasured, again)


def _figure(build: Build, ratio: float = 1.0) -> str:
    """Throughput or time of a build; with the ``ratio`` of its times to those of the default, of
    the default in the same run."""
    if build.scenario != Scenario.OFFLINE:
        return latency(build.p50_ns / ratio)
    value = build.throughput_per_s
    return "" if value is None else speedwords.samples_per_second(value * ratio)


def _unproved(record: Record) -> str:
    """Why no build of a class is offered: ``int8 by openvino was 1.3 times as slow``."""
    text = f"{record.tolerance} by {record.backend}"
    if record.ratio is None:
        return f"{text} was not compared"
    if record.verdict != Verdict.UNSTABLE:
        return f"{text} was {speedwords.speed(record.ratio)}"
    interval = ""
    if record.ratio_low and record.ratio_high:
        low, high = (speedwords.times(1 / end) for end in (record.ratio_high, record.ratio_low))
        interval = f", 95 % interval {low} to {high} times"
    return (
        f"{text} was measured {speedwords.speed(record.ratio)}{interval}, which is inconclusive: "
        "the machine was disturbed, or the time was up"
    )


def _one_row(inputs: Sequence[InputShape], graph: Graph) -> list[InputShape]:
    """Inputs of one row: what a program gives to ``map`` is independent of the measured batch."""
    batch = batch_of(inputs, graph.signature["inputs"])
    return [
        replace(one, shape=(1, *one.shape[1:])) if one.shape[:1] == (batch,) else one
        for one in inputs
    ]
