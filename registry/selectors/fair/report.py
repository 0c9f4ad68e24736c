"""The FAIR report: scores, principles and gaps over all records of the hub."""

from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache

from registry.fair.score.score import Points
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.fair.assessment import newest_of
from registry.tables import Assessment

#: Upper bound on the records whose documents a report reads, and how many are in memory at once.
_MAX_DOCUMENTS = 200
_CHUNK = 25
#: Upper bound on the assessments, the latest ones, that a report is made of.
_MAX_RUNS = 10_000
#: Lifetime in seconds of the cached report for anonymous users.
_LIFETIME_S = 60
_PUBLIC = "fair-report-anonymous"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class MetricLoss:
    """A metric, the number of records read that lose points for it, and the sum of the points."""

    id: str
    title: str
    principle: str
    records: int
    points: float


@dataclass(frozen=True, slots=True)
class Report:
    """FAIR scores over the hub: one assessment per model and data set, of the latest 10,000.

    Attributes:
        records: Number of assessed models and data sets.
        percents: Number of records with each percentage of the points, from 0 to 100.
        mean: Mean percentage; ``None`` without records.
        read: Number of records behind ``principles`` and ``gaps``: the latest assessed.
        principles: Letter to title and summed points.
        gaps: Metrics that lose most points, worst first.
        best, least: A few records, with their MLModel and namespace.
    """

    records: int
    percents: tuple[int, ...]
    mean: float | None
    read: int
    principles: dict[str, tuple[str, Points]]
    gaps: tuple[MetricLoss, ...]
    best: tuple[Assessment, ...]
    least: tuple[Assessment, ...]


@dataclass(frozen=True, slots=True)
class ReportFigures:
    """A :class:`Report` in cacheable form: records are keys, so access can be checked again."""

    percents: tuple[int, ...]
    read: int
    principles: dict[str, tuple[str, Points]]
    gaps: tuple[MetricLoss, ...]
    best: tuple[int, ...]
    least: tuple[int, ...]


def hub_report(actor: Actor) -> Report:
    """The FAIR report over everything that the actor may read.

    The report for anonymous users is cached for :data:`_LIFETIME_S`.
    """
    is_public = isinstance(actor, AnonymousUser)
    figures: ReportFigures | None = cache.get(_PUBLIC) if is_public else None
    if figures is None:
        figures = _figures(actor)
        if is_public:
            cache.set(_PUBLIC, figures, _LIFETIME_S)
    # DANGER: cached keys may be of repositories that were made private since.
    rows = Assessment.objects.filter(
        pk__in={*figures.best, *figures.least},
        revision__mlmodel__in=readable_repositories(actor).values("pk"),
    )
    named = rows.select_related("revision__mlmodel__namespace").defer("document").in_bulk()
    percents, count = figures.percents, sum(figures.percents)
    return Report(
        records=count,
        percents=percents,
        mean=sum(at * many for at, many in enumerate(percents)) / count if count else None,
        read=figures.read,
        principles=figures.principles,
        gaps=figures.gaps,
        best=tuple(named[pk] for pk in figures.best if pk in named),
        least=tuple(named[pk] for pk in figures.least if pk in named),
    )


def _figures(actor: Actor) -> ReportFigures:
    newest = Assessment.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    rows = newest_of(actor, behind=newest - _MAX_RUNS)
    percents = [0] * 101
    shares: list[tuple[float, int]] = []
    for pk, points, most in rows.values_list("pk", "points", "most"):
        percents[min(Points(points, most).percent, 100)] += 1
        if most > 0:
            shares.append((points / most, pk))
    documents = rows.order_by("-pk").values_list("document", flat=True)[:_MAX_DOCUMENTS]
    read = 0
    principles: dict[str, tuple[str, Points]] = {}
    gaps: dict[str, MetricLoss] = {}
    for document in documents.iterator(chunk_size=_CHUNK):
        read += 1
        _add_principles(principles, document)
        _add_gaps(gaps, document)
    return ReportFigures(
        percents=tuple(percents),
        read=read,
        principles=principles,
        gaps=tuple(sorted(gaps.values(), key=lambda gap: (-gap.points, gap.id))[:_SHOWN]),
        best=tuple(pk for _, pk in nsmallest(_SHOWN, shares, key=lambda one: (-one[0], one[1]))),
        least=tuple(pk for _, pk in nsmallest(_SHOWN, shares)),
    )


def _add_principles(sums: dict[str, tuple[str, Points]], document: dict[str, Any]) -> None:
    for letter, one in document["principles"].items():
        _, part = sums.get(letter, ("", Points(0, 0)))
        sums[letter] = one["title"], Points(part.points + one["points"], part.of + one["of"])


def _add_gaps(gaps: dict[str, MetricLoss], document: dict[str, Any]) -> None:
    for one in document["metrics"]:
        key, lost = one["id"], one["of"] - one["points"]
        if lost > 0:
            loss = gaps.get(key, MetricLoss(key, one["title"], one["principle"], 0, 0.0))
            gaps[key] = replace(loss, records=loss.records + 1, points=loss.points + lost)
