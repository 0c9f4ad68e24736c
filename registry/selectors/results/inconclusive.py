"""Tolerance classes of a network in which the newest search of a target decided nothing."""

from collections.abc import Collection
from typing import Any

from registry.ids import parse_uuid
from registry.states import JobKind, JobState
from registry.tables import Job, Revision

#: Slug of a target to tolerance classes.
Inconclusive = dict[str, frozenset[str]]


def inconclusive_classes(revision: Revision) -> Inconclusive:
    """Classes of a revision's network in which a disturbed measurement may hide a faster build.

    Of each target the newest search that succeeded counts; targets without such a class are left
    out.
    """
    return all_inconclusive([revision.pk]).get(revision.pk, {})


def all_inconclusive(revisions: Collection[int]) -> dict[int, Inconclusive]:
    """For lists: key of a revision to :func:`inconclusive_classes`, in one query."""
    rows = Job.objects.filter(
        revision__in=revisions, kind=JobKind.TUNE, state=JobState.SUCCEEDED
    ).order_by("id")
    newest = {
        (revision, slug): result
        for revision, slug, result in rows.values_list("revision", "target__slug", "result")
    }
    classes: dict[int, Inconclusive] = {}
    for (revision, slug), result in newest.items():
        open_classes = frozenset(str(one["tolerance"]) for one in result.get("inconclusive", ()))
        if open_classes:
            classes.setdefault(revision, {})[slug] = open_classes
    return classes


def inconclusive_candidates(job_uuid: str) -> list[dict[str, Any]]:
    """What a job measures again: the inconclusive candidates of the newest search that succeeded
    for its revision and target. As :func:`workers.device.inconclusive.inconclusive_of` returns
    them."""
    job = Job.objects.get(uuid=parse_uuid(job_uuid))
    rows = Job.objects.filter(
        revision=job.revision_id,
        target=job.target_id,
        kind=JobKind.TUNE,
        state=JobState.SUCCEEDED,
    )
    result = rows.order_by("-id").values_list("result", flat=True).first() or {}
    candidates: list[dict[str, Any]] = result.get("inconclusive", [])
    return candidates
