"""The throughput of a model on one target, as its page shows it beside the latency."""

from dataclasses import dataclass

from django.conf import settings

from hub.pages import snippets, speedwords
from hub.pages.chart import Chart
from hub.pages.chart.throughput import throughput_by_batch
from hub.pages.snippets import Snippet
from hub.pages.ways import is_closed
from registry.scenarios import Scenario
from registry.selectors.results.throughput import throughput_of
from registry.tables import Build, Graph, MLModel


@dataclass(frozen=True, slots=True)
class ThroughputOffer:
    """The build of a tolerance class with the highest throughput.

    Attributes:
        speed: ``2.1 times as fast``, as the default at its best batch.
        per_second: Such as ``1,240 samples/s``.
        execution: Such as ``batch 16, one stream per core``.
        snippets: Programs that load it and run many samples.
    """

    build: Build
    speed: str
    per_second: str
    execution: str
    snippets: list[Snippet]


@dataclass(frozen=True, slots=True)
class ThroughputPanel:
    """Offers in the scenario ``offline``; ``default`` is the throughput of the defaults at their
    best batch."""

    default: str
    default_execution: str
    offers: list[ThroughputOffer]
    chart: Chart | None


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
    offers = [
        ThroughputOffer(
            build=build,
            speed="the default" if build.is_baseline else speedwords.speed(build.ratio),
            per_second=speedwords.per_second(build),
            execution=speedwords.execution(build),
            snippets=snippets.load(
                settings.HUB_URL,
                mlmodel.full_name,
                revision=revision_name,
                runtime=build.runtime,
                tolerance=build.tolerance,
                inputs=throughput.inputs,
                scenario=Scenario.OFFLINE,
                sign_in=is_closed(mlmodel),
            ),
        )
        for build in throughput.offers
    ]
    return ThroughputPanel(
        default=speedwords.per_second(throughput.default),
        default_execution=speedwords.execution(throughput.default),
        offers=offers,
        chart=throughput_by_batch(throughput.points),
    )
