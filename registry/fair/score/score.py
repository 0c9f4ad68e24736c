"""The FAIR score of a record: what an outside client saw, held against every metric."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from registry.fair.absent import known
from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Harvest
from registry.fair.score.metric import Metric, Missing, Outcome, Principle, Source
from registry.fair.score.metrics import metrics_of

SCHEMA = "hpcfair.fair/1"
#: Goes into records beside each score: points of different versions are not comparable.
TOOL = "hpcfair 1 (FAIRsFAIR 0.8)"
_PRINCIPLES: dict[Principle, str] = {
    "F": "Findable",
    "A": "Accessible",
    "I": "Interoperable",
    "R": "Reusable",
}
# Least share for a colour; white on each is legible (WCAG 2.2, 1.4.3: 4.5 to 1).
_COLOURS = ((0.9, "#1a6e2e"), (0.6, "#7a5a00"), (0.0, "#a32020"))
_GREY = "#555"
# Verdana, 11 px, as badges have it: no glyph of it that badges show is wider.
_GLYPH_PX = 7.5
_PADDING_PX = 12
_HEIGHT_PX = 20
_NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Points:
    """Points of some metrics, and the most there are."""

    points: float
    of: float

    @property
    def percent(self) -> int:
        """Rounded down: 100 means all."""
        return math.floor(100 * self.points / self.of) if self.of else 0


@dataclass(frozen=True, slots=True)
class Score:
    """Every metric that applies to a record, with its outcome."""

    subject: str
    kind: ResourceKind
    results: tuple[tuple[Metric, Outcome], ...]

    @property
    def total(self) -> Points:
        """Of all metrics together."""
        return _sum(self.results)

    def of_principle(self, principle: Principle) -> Points:
        """Of the metrics of one letter."""
        return _sum((m, o) for m, o in self.results if m.principle == principle)

    def of_source(self, source: Source) -> Points:
        """Of FAIRsFAIR's metrics, or of the hub's own."""
        return _sum((m, o) for m, o in self.results if m.source == source)

    @property
    def missing(self) -> list[tuple[Metric, Missing]]:
        """What points were not given for, what the card can mend first."""
        found = [(metric, one) for metric, outcome in self.results for one in outcome.missing]
        return sorted(found, key=lambda pair: pair[1].field is None)

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


def assess(harvest: Harvest) -> Score:
    """The score for what was seen of a record."""
    results = tuple((metric, metric.check(harvest)) for metric in metrics_of(harvest.kind))
    return Score(str(harvest.reading.subject or harvest.landing.url), harvest.kind, results)


def badge(part: Points | None, *, label: str = "FAIR") -> bytes:
    """An SVG picture that says how many points there are, also to those who do not see it.

    Args:
        part: ``None`` where nobody has looked yet.
    """
    value, whole, colour = "not looked at yet", f"{label}: not looked at yet", _GREY
    if part is not None:
        value = f"{part.points:g} of {part.of:g}"
        whole = f"{label}: {value} points, {part.percent} %"
        colour = next(colour for least, colour in _COLOURS if part.percent >= 100 * least)
    left, right = (_GLYPH_PX * len(text) + _PADDING_PX for text in (label, value))
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": f"{left + right:g}",
            "height": str(_HEIGHT_PX),
            "role": "img",
            "aria-label": _drawable(whole),
        },
    )
    ElementTree.SubElement(svg, "title").text = _drawable(whole)
    for x, width, fill in ((0.0, left, "#444"), (left, right, colour)):
        ElementTree.SubElement(
            svg,
            "rect",
            {"x": f"{x:g}", "width": f"{width:g}", "height": str(_HEIGHT_PX), "fill": fill},
        )
    text = {"fill": "#fff", "font-family": "Verdana, DejaVu Sans, sans-serif", "font-size": "11"}
    group = ElementTree.SubElement(svg, "g", text | {"text-anchor": "middle"})
    for x, words in ((left / 2, label), (left + right / 2, value)):
        ElementTree.SubElement(group, "text", {"x": f"{x:g}", "y": "14"}).text = _drawable(words)
    data: bytes = ElementTree.tostring(svg, encoding="utf-8")
    return data


def _drawable(text: str) -> str:
    """``text`` without what XML cannot say at all (XML 1.0, section 2.2)."""
    return _NO_XML.sub("\ufffd", text)


def _sum(results: Iterable[tuple[Metric, Outcome]]) -> Points:
    results = list(results)
    return Points(
        sum(outcome.points for _, outcome in results), sum(metric.points for metric, _ in results)
    )


def _points(part: Points) -> dict[str, float]:
    return {"points": part.points, "of": part.of, "percent": part.percent}


def _result(metric: Metric, outcome: Outcome) -> dict[str, Any]:
    return {
        "id": metric.id,
        "source": metric.source,
        "principle": metric.principle,
        "title": metric.title,
        "points": outcome.points,
        "of": metric.points,
        "evidence": list(outcome.evidence),
        "missing": [known(what=one.what, how=one.how, field=one.field) for one in outcome.missing],
    }
