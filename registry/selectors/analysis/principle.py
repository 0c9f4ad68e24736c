"""Reads of principles, and of the evidence that everybody may see.

Only trials and ablations of public models count, whoever asks: a principle is published, and so is
its evidence. Emulated machines do not count: their times say nothing about processors.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, Q, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import readable_jobs
from registry.selectors.analysis.ablation import readable_ablations
from registry.states import TrialOutcome, Verdict
from registry.statistics.experience import METHOD, RevertedDecision, WorkloadTrials
from registry.tables import (
    Principle,
    PrincipleStatus,
    PrincipleVersion,
    ScheduleAblation,
    ScheduleSketch,
    ScheduleTask,
    ScheduleTrial,
)

_EVERYBODY = AnonymousUser()
#: MetaSchedule writes 1e10 s for a failure; no call takes so long.
_LONGEST_S = 1e6
#: Newest trials of a workload that are examined.
_MOST_TRIALS = 5000
#: Order of statuses in lists.
_ORDER = (
    PrincipleStatus.PUBLISHED, PrincipleStatus.WEAKENED, PrincipleStatus.WITHDRAWN,
    PrincipleStatus.EXAMINED,
)  # fmt: skip


def principles(*, status: str | None = None, anchor: str | None = None) -> QuerySet[Principle]:
    """Principles by anchor and words; everybody may read them."""
    rows = Principle.objects.all()
    if status:
        rows = rows.filter(status=status)
    if anchor:
        rows = rows.filter(anchor=anchor)
    return rows.order_by("anchor", "words", "id")


def principles_by_status() -> list[tuple[str, list[PrincipleVersion]]]:
    """Status to the newest versions of its principles, published ones first."""
    newest = newest_versions(principles())
    return [
        (status.value, [version for version in newest if version.principle.status == status])
        for status in _ORDER
    ]


def newest_versions(rows: QuerySet[Principle]) -> list[PrincipleVersion]:
    """The newest version of each principle, in the order of ``rows``."""
    keys = list(rows.values_list("pk", flat=True))
    last = Principle.objects.filter(pk__in=keys).annotate(last=Max("versions__number"))
    numbers = dict(last.values_list("pk", "last"))
    versions = PrincipleVersion.objects.filter(principle__in=keys).select_related("principle")
    newest = {row.principle_id: row for row in versions if row.number == numbers[row.principle_id]}
    return [newest[key] for key in keys if key in newest]


def principle_get(identifier: str) -> Principle:
    """The principle of that identifier. Raises ``NotFound``: ``principle_not_found``."""
    row = Principle.objects.filter(identifier=identifier[:64]).first()
    if row is None:
        raise NotFound("principle_not_found", f"There is no principle {identifier[:64]!r}.")
    return row


def version_get(principle: Principle, number: int | None = None) -> PrincipleVersion:
    """A version of a principle, by default the newest. Raises ``NotFound``."""
    rows = principle.versions.order_by("-number")
    row = (rows if number is None else rows.filter(number=number)).first()
    if row is None:
        raise NotFound("principle_not_found", f"The principle has no version {number}.")
    row.principle = principle
    return row


def principles_for_search(anchors: Sequence[str]) -> list[dict[str, Any]]:
    """What a search for schedules follows: the published principles of its anchors.

    Returns:
        ``{"anchor", "trait", "is_wanted"}`` each.
    """
    rows = Principle.objects.filter(status=PrincipleStatus.PUBLISHED, anchor__in=anchors)
    return list(rows.order_by("id").values_list("statement", flat=True))


def published_anchors() -> list[str]:
    """Anchors that have published principles, by name."""
    rows = Principle.objects.filter(status=PrincipleStatus.PUBLISHED)
    return list(rows.order_by("anchor").values_list("anchor", flat=True).distinct())


def examined_anchors() -> list[str]:
    """Anchors whose workloads everybody may see have enough trials, by name."""
    rows = _public_trials().values("task__anchor", "task")
    enough = rows.annotate(count=Count("id")).filter(count__gte=METHOD["least_trials"])
    return sorted(set(enough.values_list("task__anchor", flat=True)))


def query_now(anchor: str) -> dict[str, Any]:
    """The query of all evidence on an anchor that everybody may see now.

    Returns:
        ``{"anchor", "workloads": [{"workload", "until", "count", "sha256"}], "ablations"}``: of
        each workload the trials until a time, with their number and the SHA-256 of their ids.
    """
    tasks = ScheduleTask.objects.filter(anchor=anchor, target__is_emulated=False)
    selected = []
    for task in tasks.order_by("uuid"):
        rows = list(_trials_of(task).values_list("uuid", "created_at"))
        if len(rows) >= METHOD["least_trials"]:
            until = max(at for _, at in rows)
            ids = [str(uuid) for uuid, _ in rows]
            selected.append({
                "workload": str(task.uuid), "until": until.isoformat(), "count": len(ids),
                "sha256": digest_of(ids),
            })  # fmt: skip
    ablations = _public_ablations().filter(task__anchor=anchor).order_by("id")
    uuids = [str(uuid) for uuid in ablations.values_list("uuid", flat=True)]
    return {"anchor": anchor, "workloads": selected, "ablations": uuids}


def evidence_of(
    query: Mapping[str, Any],
) -> tuple[list[WorkloadTrials], list[RevertedDecision]]:
    """The trials and ablations that a query names, as far as everybody may still see them."""
    workloads = []
    for each in query["workloads"]:
        task = ScheduleTask.objects.filter(uuid=each["workload"]).select_related("target").first()
        if task is not None:
            until = datetime.fromisoformat(each["until"])
            workloads.append(_workload(task, _trials_of(task, until)))
    rows = _public_ablations().filter(uuid__in=query["ablations"]).order_by("id")
    rows = rows.select_related("task", "trial__sketch")
    return workloads, [_reverted(row) for row in rows]


def visible_evidence(version: PrincipleVersion) -> dict[str, Any]:
    """The evidence of a version without workloads that no longer belong to a public model; their
    number is ``withheld``."""
    evidence: dict[str, Any] = version.evidence
    rows = [*evidence["workloads"], *evidence["ablations"]]
    named = {parse_uuid(row["workload"]) for row in rows}
    public = _public_trials().filter(task__uuid__in=named).values_list("task__uuid", flat=True)
    visible = {str(uuid) for uuid in public.distinct()}
    parts = {
        name: [row for row in evidence[name] if row["workload"] in visible]
        for name in ("workloads", "ablations")
    }
    return {**evidence, **parts, "withheld": len({row["workload"] for row in rows} - visible)}


def visible_query(version: PrincipleVersion) -> dict[str, Any]:
    """The query of a version, without workloads and ablations that are not public any more."""
    query: dict[str, Any] = version.query
    named = [each["workload"] for each in query["workloads"]]
    public = _public_trials().filter(task__uuid__in=named).values_list("task__uuid", flat=True)
    workloads = {str(uuid) for uuid in public.distinct()}
    rows = _public_ablations().filter(uuid__in=query["ablations"])
    ablations = {str(uuid) for uuid in rows.values_list("uuid", flat=True)}
    return {
        **query,
        "workloads": [each for each in query["workloads"] if each["workload"] in workloads],
        "ablations": [uuid for uuid in query["ablations"] if uuid in ablations],
    }


def digest_of(ids: Iterable[str]) -> str:
    """SHA-256 of ids, one per line, in the order of their trials."""
    return hashlib.sha256("".join(f"{each}\n" for each in ids).encode()).hexdigest()


def _public_trials() -> QuerySet[ScheduleTrial]:
    return ScheduleTrial.objects.filter(
        outcome=TrialOutcome.MEASURED,
        median_s__lt=_LONGEST_S,
        task__target__is_emulated=False,
        job__in=readable_jobs(_EVERYBODY),
    )


def _trials_of(task: ScheduleTask, until: datetime | None = None) -> QuerySet[ScheduleTrial]:
    rows = _public_trials().filter(task=task)
    if until is not None:
        rows = rows.filter(created_at__lte=until)
    newest = rows.order_by("-id").values("pk")[:_MOST_TRIALS]
    return ScheduleTrial.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).order_by(
        "id"
    )


def _public_ablations() -> QuerySet[ScheduleAblation]:
    rows = readable_ablations(_EVERYBODY).filter(position__gte=0, task__target__is_emulated=False)
    return rows.filter(Q(verdict=Verdict.SLOWER) | Q(verdict=Verdict.FASTER))


def _workload(task: ScheduleTask, rows: QuerySet[ScheduleTrial]) -> WorkloadTrials:
    trials = list(rows.values_list("sketch", "decisions", "median_s"))
    sketches = ScheduleSketch.objects.in_bulk({sketch for sketch, _, _ in trials})
    return WorkloadTrials(
        workload=str(task.uuid),
        key=task.key,
        name=task.name,
        target=task.target.slug,
        trials=[
            (sketches[sketch].instructions, decisions, float(seconds or 0.0))
            for sketch, decisions, seconds in trials
        ],
    )


def _reverted(row: ScheduleAblation) -> RevertedDecision:
    best = row.trial.decisions
    variant = [list(decision) for decision in best]
    variant[row.position][1] = row.alternative
    return RevertedDecision(
        ablation=str(row.uuid),
        workload=str(row.task.uuid),
        key=row.task.key,
        sketch=row.trial.sketch.instructions,
        best=best,
        variant=variant,
        ratio=float(row.ratio or 1.0),
        low=float(row.ratio_low or 1.0),
        high=float(row.ratio_high or 1.0),
        is_slower=row.verdict == Verdict.SLOWER,
        name=row.task.name,
    )
