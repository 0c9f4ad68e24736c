"""Reads of FAIR assessments, and of the versions that are due for one.

An assessment run fetches a record as an anonymous client and scores it.
"""

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

#: Time until a run that stored no assessment is repeated.
RETRY = timedelta(hours=1)
#: Upper bound on the records whose documents a report reads, and how many are in memory at once.
_MAX_DOCUMENTS = 200
_CHUNK = 25
#: Lifetime in seconds of the cached report for anonymous users.
_LIFETIME_S = 60
_PUBLIC = "fair-report-anonymous"
_SHOWN = 10
_OPEN = (JobState.QUEUED, JobState.LEASED)


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
    """FAIR scores over the hub: one assessment per model and data set, see :func:`newest_of`.

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


def latest(revision: Revision) -> Assessment | None:
    """The newest assessment of a version; ``None`` before the first."""
    return history(revision).first()


def assessment_get(revision: Revision) -> Assessment:
    """The newest assessment of a version. Raises ``NotFound``: ``assessment_not_found``."""
    assessment = latest(revision)
    if assessment is None:
        raise NotFound(
            "assessment_not_found",
            f"Revision {revision.oid[:10]} has not been assessed yet.",
            "The hub assesses the newest version of public repositories; wait a minute.",
        )
    return assessment


def history(revision: Revision) -> QuerySet[Assessment]:
    """All assessments of a version, newest first."""
    return revision.assessments.order_by("-created_at", "-pk")


def history_of(mlmodel: MLModel) -> QuerySet[Assessment]:
    """All assessments of any version, newest first, with their versions."""
    rows = Assessment.objects.filter(revision__mlmodel=mlmodel).select_related("revision")
    return rows.order_by("-created_at", "-pk")


def points_of(assessment: Assessment) -> Points:
    """Earned and attainable points of an assessment."""
    return Points(assessment.points, assessment.most)


def results_of(document: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The result of a document without its evidence texts, to compare two documents."""
    return [
        (document["tool"], one.get("id"), one.get("points"), one.get("missing"))
        for one in document["metrics"]
    ]


def assessable() -> QuerySet[Revision]:
    """Assessable versions: newest and tagged versions of public repositories."""
    named = Q(kind=RefKind.TAG) | Q(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    refs = Ref.objects.filter(named, mlmodel__visibility=Visibility.PUBLIC)
    rows = Revision.objects.filter(pk__in=refs.values("revision"))
    return rows.select_related("mlmodel__namespace")


def is_assessable(revision: Revision) -> bool:
    """Whether it is one of :func:`assessable`."""
    return assessable().filter(pk=revision.pk).exists()


def assessable_of(job_uuid: str) -> Revision | None:
    """The version of a job, with MLModel and namespace; ``None`` if no longer assessable."""
    return assessable().filter(jobs__uuid=parse_uuid(job_uuid)).first()


def due(*, limit: int, age: timedelta) -> list[Revision]:
    """Assessable versions without an assessment for ``age``, those with the oldest run first.

    Versions with an open job or a run within :data:`RETRY` are left out.
    """
    now = timezone.now()
    jobs = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.ASSESS)
    recent = Assessment.objects.filter(revision=OuterRef("pk"), created_at__gt=now - age)
    last_run = Subquery(jobs.order_by("-pk").values("created_at")[:1])
    rows = assessable().annotate(last_run=last_run).filter(~Exists(recent))
    rows = rows.filter(~Exists(jobs.filter(state__in=_OPEN)))
    rows = rows.filter(Q(last_run=None) | Q(last_run__lt=now - RETRY))
    return list(rows.order_by(F("last_run").asc(nulls_first=True), "pk")[:limit])


def newest_of(actor: Actor) -> QuerySet[Assessment]:
    """The newest assessment of each readable model and data set.

    It is of the head of the default branch; of any version if the head was not assessed yet.
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
    rows = newest_of(actor)
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
