"""Tolerance classes of a network in which the newest search of a target decided nothing."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hpcfair.choice import LoadRequest
from hpcfair.outputlimits import accepts
from registry.ids import parse_uuid
from registry.scenarios import Scenario
from registry.states import JobKind, JobState
from registry.tables import Build, Job, Revision

#: Gain that is worth showing before it is confirmed.
_SMALLEST_GAIN = 0.02
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


def probable_gains(revision: Revision) -> dict[str, dict[str, float]]:
    """Gains that are probable and still being confirmed: slug of a target to tolerance class to how
    many times as fast as the default the fastest such candidate is, as far as it was measured.

    Targets on which no job measures on are left out: those results stay inconclusive.
    """
    jobs = Job.objects.filter(revision=revision, kind=JobKind.TUNE)
    waiting = set(
        jobs.filter(
            state__in=(JobState.QUEUED, JobState.LEASED), parameters__has_key="repeats"
        ).values_list("target__slug", flat=True)
    )
    newest = dict(
        jobs.filter(state=JobState.SUCCEEDED, target__slug__in=waiting)
        .order_by("id")
        .values_list("target__slug", "result")
    )
    gains: dict[str, dict[str, float]] = {}
    for slug, result in newest.items():
        for one in result.get("inconclusive", ()):
            gain = 1 / one["ratio"] if one.get("ratio") else 0.0
            of_target = gains.setdefault(slug, {})
            if gain > max(of_target.get(one["tolerance"], 0.0), 1 + _SMALLEST_GAIN):
                of_target[one["tolerance"]] = gain
    return {slug: of_target for slug, of_target in gains.items() if of_target}


def undecided_classes(revision: Revision) -> tuple[Inconclusive, dict[str, dict[str, float]]]:
    """:func:`inconclusive_classes` without those of :func:`probable_gains`, and these gains."""
    inconclusive = inconclusive_classes(revision)
    gains = probable_gains(revision) if inconclusive else {}
    rest = {slug: each - gains.get(slug, {}).keys() for slug, each in inconclusive.items()}
    return rest, gains


def being_confirmed(
    gains: Mapping[str, Mapping[str, float]], best: Build | None, request: LoadRequest
) -> Iterator[str]:
    """What a machine may soon load: a sentence for each tolerance class of :func:`probable_gains`
    in which a build is probably faster than ``best``, its best one so far, with the next step."""
    if best is None or request.scenario != Scenario.SINGLE_STREAM:
        return
    limit, reached = request.tolerance, 1.0 if best.is_baseline else 1 / best.ratio
    for tolerance, gain in gains.get(best.target.slug, {}).items():
        if gain <= reached:
            continue
        is_accepted = isinstance(limit, str) and accepts(limit, tolerance)
        then = "load the model again later"
        if not is_accepted:
            then = f"load tolerance='{tolerance}' later"
        yield (
            f"On {best.target.slug} a build within tolerance '{tolerance}' is probably {gain:.3g} "
            f"times as fast as the runtime's defaults, being confirmed; {then} to get it."
        )


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
