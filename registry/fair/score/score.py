"""The FAIR score of a record: the outcome of every metric on its harvest."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from registry.fair.description import ResourceKind
from registry.fair.score.beyond import SERVED
from registry.fair.score.fairsfair import FAIRSFAIR
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import Metric, Missing, Outcome, Principle, Source
from registry.fair.score.reuse import REUSED
from registry.fair.serialise import drop_empty

SCHEMA = "hpcfair.fair/1"
#: Stored with each score: points of different tools are not comparable.
TOOL = "hpcfair 1 (FAIRsFAIR 0.8)"
_PRINCIPLES: dict[Principle, str] = {
    "F": "Findable",
    "A": "Accessible",
    "I": "Interoperable",
    "R": "Reusable",
}
#: All metrics in the order F, A, I, R; within a principle, FAIRsFAIR's first.
METRICS: tuple[Metric, ...] = tuple(
    sorted((*FAIRSFAIR, *SERVED, *REUSED), key=lambda metric: "FAIR".index(metric.principle))
)


@dataclass(frozen=True, slots=True)
class Points:
    """Earned and attainable points of some metrics."""

    points: float
    of: float

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 means all points."""
        return math.floor(100 * self.points / self.of) if self.of else 0


@dataclass(frozen=True, slots=True)
class Score:
    """Every metric that applies to a record, with its outcome."""

    subject: str
    kind: ResourceKind
    results: tuple[tuple[Metric, Outcome], ...]

    @property
    def total(self) -> Points:
        """Points of all metrics."""
        return _sum(self.results)

    def of_principle(self, principle: Principle) -> Points:
        """Points of the metrics of one principle."""
        return _sum((m, o) for m, o in self.results if m.principle == principle)

    def of_source(self, source: Source) -> Points:
        """Points of FAIRsFAIR's metrics, or of the hub's own."""
        return _sum((m, o) for m, o in self.results if m.source == source)

    @property
    def missing(self) -> list[tuple[Metric, Missing]]:
        """Reasons for lost points, those that the card can fix first."""
        reasons = [(metric, one) for metric, outcome in self.results for one in outcome.missing]
        return sorted(reasons, key=lambda pair: pair[1].field is None)

    def as_dict(self) -> dict[str, Any]:
        """The document ``hpcfair.fair/1``."""
        return {
            "schema": SCHEMA,
            "tool": TOOL,
            "subject": self.subject,
            "kind": self.kind,
            **_points(self.total),
            "principles": {
                letter: {"title": title, **_points(self.of_principle(letter))}
                for letter, title in _PRINCIPLES.items()
            },
            "sources": {
                "fairsfair": _points(self.of_source("fairsfair")),
                "hub": _points(self.of_source("hub")),
            },
            "metrics": [_result(metric, outcome) for metric, outcome in self.results],
        }


@dataclass(frozen=True, slots=True)
class CardGap:
    """Lost points that one key of the card would earn, at most. ``field`` is the key, or
    ``README.md`` for its text; ``None`` if the card cannot help."""

    field: str | None
    points: float
    missing: tuple[Missing, ...]


def metrics_of(kind: ResourceKind) -> list[Metric]:
    """The metrics that apply to a model or a data set."""
    return [metric for metric in METRICS if kind in metric.kinds]


def assess(harvest: Harvest) -> Score:
    """The score of a harvested record."""
    results = tuple((metric, metric.check(harvest)) for metric in metrics_of(harvest.kind))
    return Score(str(harvest.reading.subject or harvest.landing.url), harvest.kind, results)


def card_gaps(score: Score) -> list[CardGap]:
    """Gaps that the card can fix first, in descending order of points."""
    points: defaultdict[str | None, float] = defaultdict(float)
    reasons: defaultdict[str | None, dict[Missing, None]] = defaultdict(dict)
    for metric, outcome in score.results:
        for one in outcome.missing:
            reasons[one.field][one] = None
        for field in {one.field for one in outcome.missing}:
            points[field] += metric.points - outcome.points
    gaps = [CardGap(field, points[field], tuple(missing)) for field, missing in reasons.items()]
    return sorted(gaps, key=lambda gap: (gap.field is None, -gap.points))


def _sum(results: Iterable[tuple[Metric, Outcome]]) -> Points:
    results = list(results)
    return Points(
        sum(outcome.points for _, outcome in results), sum(metric.points for metric, _ in results)
    )


def _points(points: Points) -> dict[str, float]:
    return {"points": points.points, "of": points.of, "percent": points.percent}


def _result(metric: Metric, outcome: Outcome) -> dict[str, Any]:
    return {
        "id": metric.id,
        "source": metric.source,
        "principle": metric.principle,
        "title": metric.title,
        "points": outcome.points,
        "of": metric.points,
        "evidence": list(outcome.evidence),
        "missing": [
            drop_empty(what=one.what, how=one.how, field=one.field) for one in outcome.missing
        ],
    }
