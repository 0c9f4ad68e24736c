"""Reads of how FAIR records were found from outside, and of which are to be looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from heapq import nsmallest
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from registry.errors import NotFound
from registry.fair.score.score import Points
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_repositories
from registry.states import JobKind, JobState, RefKind, Visibility
from registry.tables import Assessment, Job, MLModel, Ref, Revision

#: What a look came to nothing of is tried again no sooner.
RETRY = timedelta(hours=1)
#: Of how many records the report reads more than the points, and how many of those at a time.
_READ = 200
_CHUNK = 25
#: How long strangers see the same figures in the report.
_LIFETIME_S = 60
_PUBLIC = "fair-report-anonymous"
_SHOWN = 10
_OPEN = (JobState.QUEUED, JobState.LEASED)


@dataclass(frozen=True, slots=True)
class MetricLoss:
    """A metric for which records lose points.

    Attributes:
        records: How many of those read.
        points: Lost by all of them together.
    """

    id: str
    title: str
    principle: str
    records: int
    points: float


@dataclass(frozen=True, slots=True)
class Report:
    """How FAIR the records of a hub are: of each model and data set the last look at its
    newest version, or at any if nobody has looked at that yet.

    Attributes:
        records: How many have been looked at.
        percents: How many have so many per cent of the points: a number for each from 0 to 100.
        mean: Of the percentages; ``None`` if there are none.
        read: Of how many ``principles`` and ``gaps`` are made: those looked at last.
        principles: Letter to title and points of those read together.
        gaps: What loses most points, worst first.
        best, least: A few, with their MLModel and namespace.
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
    """What of a :class:`Report` names nobody, and the keys of what it names."""

    percents: tuple[int, ...]
    read: int
    principles: dict[str, tuple[str, Points]]
    gaps: tuple[MetricLoss, ...]
    best: tuple[int, ...]
    least: tuple[int, ...]


def latest(revision: Revision) -> Assessment | None:
    """The last look at a version; ``None`` before the first."""
    return history(revision).first()


def assessment_get(revision: Revision) -> Assessment:
    """The last look at a version.

    Raises:
        NotFound: ``assessment_not_found``.
    """
    found = latest(revision)
    if found is None:
        raise NotFound(
            "assessment_not_found",
            f"Nobody has looked at revision {revision.oid[:10]} yet.",
            "The hub looks at the newest version of what is public; wait a minute.",
        )
    return found


def history(revision: Revision) -> QuerySet[Assessment]:
    """All looks at a version, newest first."""
    return revision.assessments.order_by("-created_at", "-pk")


def history_of(mlmodel: MLModel) -> QuerySet[Assessment]:
    """All looks at any version, newest first, with their versions."""
    rows = Assessment.objects.filter(revision__mlmodel=mlmodel).select_related("revision")
    return rows.order_by("-created_at", "-pk")


def points_of(assessment: Assessment) -> Points:
    """Its points, and the most there were."""
    return Points(assessment.points, assessment.most)


def results_of(document: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What two documents have in common that say the same, however they worded their evidence."""
    return [
        (document["tool"], one.get("id"), one.get("points"), one.get("missing"))
        for one in document["metrics"]
    ]


def assessable() -> QuerySet[Revision]:
    """The versions of public things that strangers are led to: the newest, and those with a tag."""
    named = Q(kind=RefKind.TAG) | Q(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    refs = Ref.objects.filter(named, mlmodel__visibility=Visibility.PUBLIC)
    rows = Revision.objects.filter(pk__in=refs.values("revision"))
    return rows.select_related("mlmodel__namespace")


def is_assessable(revision: Revision) -> bool:
    """Whether it is one of :func:`assessable`."""
    return assessable().filter(pk=revision.pk).exists()


def assessable_of(job_uuid: str) -> Revision | None:
    """The version a job is about, with MLModel and namespace, if it still is assessable."""
    return assessable().filter(jobs__uuid=parse_uuid(job_uuid)).first()


def due(*, limit: int, age: timedelta) -> list[Revision]:
    """Assessable versions that were not looked at for ``age``: what nobody tried longest first.

    Not among them: what is to be looked at anyway, or was tried within :data:`RETRY`.
    """
    now = timezone.now()
    tries = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.ASSESS)
    looks = Assessment.objects.filter(revision=OuterRef("pk"), created_at__gt=now - age)
    tried = Subquery(tries.order_by("-pk").values("created_at")[:1])
    rows = assessable().annotate(tried=tried).filter(~Exists(looks))
    rows = rows.filter(~Exists(tries.filter(state__in=_OPEN)))
    rows = rows.filter(Q(tried=None) | Q(tried__lt=now - RETRY))
    return list(rows.order_by(F("tried").asc(nulls_first=True), "pk")[:limit])


def newest_looks(actor: Actor) -> QuerySet[Assessment]:
    """Of each model and data set that the actor may read, the last look at its newest version.

    That is the head of the default branch; where nobody has looked at it yet, any version.
    """
    readable = readable_repositories(actor).values("pk")
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    at_head = Q(revision__in=heads.values("revision"))
    rows = Assessment.objects.filter(revision__mlmodel__in=readable).order_by()
    newest = rows.values("revision__mlmodel").annotate(
        newest=Coalesce(Max("pk", filter=at_head), Max("pk"))
    )
    return Assessment.objects.filter(pk__in=newest.values("newest"))


def hub_report(actor: Actor) -> Report:
    """How FAIR all is that the actor may read, and what to mend first.

    What strangers see is counted at most once in :data:`_LIFETIME_S`.
    """
    is_public = isinstance(actor, AnonymousUser)
    figures: ReportFigures | None = cache.get(_PUBLIC) if is_public else None
    if figures is None:
        figures = _figures(actor)
        if is_public:
            cache.set(_PUBLIC, figures, _LIFETIME_S)
    # DANGER: what was hidden since must not be named, however fresh the figures are.
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
    rows = newest_looks(actor)
    percents = [0] * 101
    shares: list[tuple[float, int]] = []
    for pk, points, most in rows.values_list("pk", "points", "most"):
        percents[min(Points(points, most).percent, 100)] += 1
        if most > 0:
            shares.append((points / most, pk))
    documents = rows.order_by("-pk").values_list("document", flat=True)[:_READ]
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
        lost = one["of"] - one["points"]
        if lost > 0:
            known = gaps.get(
                one["id"], MetricLoss(one["id"], one["title"], one["principle"], 0, 0.0)
            )
            gaps[one["id"]] = replace(known, records=known.records + 1, points=known.points + lost)
