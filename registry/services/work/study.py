"""Success rates of background jobs, by which the queue orders further ones."""

from django.db.models import F, Sum

from registry import fairshare
from registry.selectors.results.graph import graph_of
from registry.states import JobKind
from registry.tables import Job, Revision, StudyStatistic, Target

#: Kinds of background jobs. They improve a network if they lead to a new search.
STUDIES = frozenset({JobKind.SCHEDULE, JobKind.PASSES})


def study_count(job: Job) -> None:
    """Count the success of a background job, and whether it led to a new search; in its
    transaction."""
    graph = graph_of(job.revision)
    if job.kind not in STUDIES or graph is None or job.target is None:
        return
    searches = Job.objects.filter(
        kind=JobKind.TUNE, revision=job.revision, target=job.target, requested_by=None
    )
    has_improved = searches.filter(created_at__gte=job.started_at or job.created_at).exists()
    row, _ = StudyStatistic.objects.get_or_create(
        target=job.target, kind=job.kind, architecture_class=graph.architecture_class
    )
    StudyStatistic.objects.filter(pk=row.pk).update(
        ended=F("ended") + 1, improved=F("improved") + int(has_improved)
    )


def study_chance(kind: JobKind, revision: Revision, target: Target | None) -> float | None:
    """Upper bound on the probability that a background job improves the network of a revision.

    ``None`` for other kinds of jobs, whose order does not depend on it.
    """
    if kind not in STUDIES or target is None:
        return None
    graph = graph_of(revision)
    rows = StudyStatistic.objects.filter(target=target)
    total = rows.aggregate(total=Sum("ended"))["total"] or 0
    own = rows.filter(
        kind=kind, architecture_class=graph.architecture_class if graph else ""
    ).first()
    if own is None:
        return fairshare.improvement_chance(improved=0, ended=0, total=total)
    return fairshare.improvement_chance(improved=own.improved, ended=own.ended, total=total)
