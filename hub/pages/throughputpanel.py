"""The throughput of a model on one target, as its page shows it beside the latency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings

from hub.pages import snippets, speedwords
from hub.pages.chart import Chart
from hub.pages.chart.throughput import throughput_by_batch
from hub.pages.snippets import Snippet
from hub.pages.ways import is_closed
from registry.scenarios import Scenario
from registry.selectors.results.speed import InputShape, batch_of
from registry.selectors.results.throughput import (
    UnmeasuredThroughput,
    throughput_of,
    unmeasured_throughput,
)
from registry.states import Verdict
from registry.tables import Build, Graph, MLModel, Record


@dataclass(frozen=True, slots=True)
class ThroughputOffer:
    """The build of a tolerance class with the highest throughput.

    Attributes:
        speed: ``2.1 times as fast``, as the default at its best batch.
        per_second: Such as ``1,240 samples/s``.
        default: Throughput of the default in the same run; "" of the default itself.
        execution: Such as ``batch 16, one stream per core``.
        snippets: Programs that load it and run many samples.
    """

    build: Build
    speed: str
    per_second: str
    default: str
    execution: str
    snippets: list[Snippet]


@dataclass(frozen=True, slots=True)
class ThroughputPanel:
    """Offers in the scenario ``offline``.

    Attributes:
        default_execution: How the defaults are at their best.
        is_default_best: Whether no build is proved faster.
        unproved: Sentences on the builds that were measured and are not proved faster.
    """

    default_execution: str
    offers: list[ThroughputOffer]
    is_default_best: bool
    unproved: list[str]
    chart: Chart | None


@dataclass(frozen=True, slots=True)
class UnmeasuredPanel:
    """What is shown in place of a :class:`ThroughputPanel`.

    Attributes:
        snippets: The command that searches again; empty if no search can measure it.
    """

    unmeasured: UnmeasuredThroughput
    snippets: list[Snippet]


def throughput_panel(
    mlmodel: MLModel, graph: Graph, revision_name: str, target: str
) -> ThroughputPanel | None:
    """The panel of a network on a target (slug); ``None`` if its throughput is not measured.

    Args:
        revision_name: As people wrote it; "" for the default branch.
    """
    throughput = throughput_of(graph, target)
    if throughput is None:
        return None
    example = _one_row(throughput.inputs, graph)
    offers = [
        ThroughputOffer(
            build=build,
            speed="the default" if build.is_baseline else speedwords.speed(build.ratio),
            per_second=speedwords.per_second(build),
            default="" if build.is_baseline else _default_per_second(build),
            execution=speedwords.execution(build),
            snippets=snippets.load(
                settings.HUB_URL,
                mlmodel.full_name,
                revision=revision_name,
                runtime=build.runtime,
                limits={"tolerance": build.tolerance},
                inputs=example,
                scenario=Scenario.OFFLINE,
                sign_in=is_closed(mlmodel),
            ),
        )
        for build in throughput.offers
    ]
    return ThroughputPanel(
        default_execution=speedwords.execution(throughput.default),
        offers=offers,
        is_default_best=throughput.best.is_baseline,
        unproved=[_unproved(record) for record in throughput.unproved],
        chart=throughput_by_batch(throughput.points),
    )


def unmeasured_panel(
    mlmodel: MLModel, graph: Graph, revision_name: str, target: str
) -> UnmeasuredPanel | None:
    """Why :func:`throughput_panel` is ``None``, with the next step; ``None`` before the end of a
    search."""
    unmeasured = unmeasured_throughput(graph, target)
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
    return UnmeasuredPanel(unmeasured, again)


def _default_per_second(build: Build) -> str:
    """The throughput of the default in the run that compared it with a build."""
    value = build.throughput_per_s
    return "" if value is None else speedwords.samples_per_second(value * build.ratio)


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
