"""Reads of FAIR assessments, and of the versions that are due for one.

An assessment run fetches a record as an anonymous client and scores it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from registry.errors import NotFound
from registry.fair.score.score import Points
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_repositories
from registry.states import JobKind, JobState, RefKind, Visibility
from registry.tables import Assessment, Job, MLModel, Ref, Revision

_OPEN = (JobState.QUEUED, JobState.LEASED)


@dataclass(frozen=True, slots=True)
class DueVersions:
    """Versions whose time of assessment has come.

    Attributes:
        ready: Assessable ones without an open job, with MLModel and namespace, in their order.
        later: Keys of those with an open job or of a private repository.
        never: Keys of those that no tag and no default branch leads to.
    """

    ready: list[Revision]
    later: AbstractSet[int]
    never: AbstractSet[int]


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
    return _cited().filter(mlmodel__visibility=Visibility.PUBLIC)


def is_assessable(revision: Revision) -> bool:
    """Whether it is one of :func:`assessable`."""
    return assessable().filter(pk=revision.pk).exists()


def assessable_of(job_uuid: str) -> Revision | None:
    """The version of a job, with MLModel and namespace; ``None`` if no longer assessable."""
    return assessable().filter(jobs__uuid=parse_uuid(job_uuid)).first()


def due(*, limit: int) -> DueVersions:
    """The versions whose time of assessment has come, longest ago first; at most ``limit``.

    A few queries over ``limit`` rows: the times are stored with the versions.
    """
    rows = Revision.objects.filter(assess_at__lte=timezone.now()).order_by("assess_at", "id")
    keys = list(rows.values_list("pk", flat=True)[:limit])
    runs = Job.objects.filter(kind=JobKind.ASSESS, revision__in=keys, state__in=_OPEN)
    assessed = set(runs.values_list("revision", flat=True))
    cited = {one.pk: one for one in _cited().filter(pk__in=keys)}
    ready = [
        one
        for key in keys
        if (one := cited.get(key))
        and key not in assessed
        and one.mlmodel.visibility == Visibility.PUBLIC
    ]
    later = cited.keys() - {one.pk for one in ready}
    return DueVersions(ready, later=later, never=set(keys) - cited.keys())


def newest_of(actor: Actor, *, behind: int = 0) -> QuerySet[Assessment]:
    """The newest assessment of each readable model and data set.

    It is of the head of the default branch; of any version if the head was not assessed yet.
    ``behind`` leaves out assessments with keys up to it.
    """
    readable = readable_repositories(actor).values("pk")
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    at_head = Q(revision__in=heads.values("revision"))
    rows = Assessment.objects.filter(revision__mlmodel__in=readable, pk__gt=behind).order_by()
    newest = rows.values("revision__mlmodel").annotate(
        newest=Coalesce(Max("pk", filter=at_head), Max("pk"))
    )
    return Assessment.objects.filter(pk__in=newest.values("newest"))


def _cited() -> QuerySet[Revision]:
    """Newest and tagged versions, with MLModel and namespace."""
    named = Q(kind=RefKind.TAG) | Q(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    refs = Ref.objects.filter(named, revision=OuterRef("pk"))
    return Revision.objects.filter(Exists(refs)).select_related("mlmodel__namespace")
