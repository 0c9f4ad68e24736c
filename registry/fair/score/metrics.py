"""All metrics that a record is assessed by."""

from registry.fair.description import ResourceKind
from registry.fair.score.beyond import SERVED
from registry.fair.score.fairsfair import FAIRSFAIR
from registry.fair.score.metric import Metric
from registry.fair.score.reuse import REUSED

#: In the order F, A, I, R; within a principle, FAIRsFAIR's first.
METRICS: tuple[Metric, ...] = tuple(
    sorted((*FAIRSFAIR, *SERVED, *REUSED), key=lambda metric: "FAIR".index(metric.principle))
)


def metrics_of(kind: ResourceKind) -> list[Metric]:
    """Those that apply to a model or a data set."""
    return [metric for metric in METRICS if kind in metric.kinds]
