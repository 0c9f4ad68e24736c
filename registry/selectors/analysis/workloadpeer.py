"""The same operator workload elsewhere: in other models, and on other targets.

Schedules are shared by all models of a hub. What one may see of them is what the searches of
readable models measured, so that a private model is not revealed by a workload it shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Min

from registry.selectors.access import Actor, readable_builds, readable_jobs
from registry.selectors.analysis.performance import TUNED
from registry.tables import CallSite, MLModel, ScheduleTrial, Target

_MOST_PEERS = 50


@dataclass(frozen=True, slots=True)
class WorkloadPeer:
    """A model and a target that run a workload; the fastest of its calls there."""

    mlmodel: str
    target: str
    build: str
    sequence: int
    time_ns: int
    calls: int
    is_tuned: bool


@dataclass(frozen=True, slots=True)
class ConfirmedWorkload:
    """The newest confirmed schedule of a workload on a target."""

    target: str
    toolchain: str
    task: str
    time_ns: float


def confirmed_of(actor: Actor, workload: str) -> list[ConfirmedWorkload]:
    """Confirmed schedules of a workload by searches of readable models, the newest of each target
    and toolchain; fastest first."""
    rows = ScheduleTrial.objects.filter(
        task__key=workload, confirmed_s__gt=0, job__in=readable_jobs(actor)
    )
    newest: dict[int, ConfirmedWorkload] = {}
    columns = ("task", "task__target__slug", "task__toolchain", "task__uuid", "confirmed_s")
    for task, target, toolchain, uuid, seconds in rows.order_by("-confirmed_at", "-id").values_list(
        *columns
    ):
        entry = ConfirmedWorkload(target, toolchain, str(uuid), seconds * 1e9)
        newest.setdefault(task, entry)
    return sorted(newest.values(), key=lambda one: one.time_ns)


def best_confirmed(actor: Actor, workload: str, target: Target) -> float | None:
    """Nanoseconds of the fastest confirmed schedule of a workload on a target."""
    times = [one.time_ns for one in confirmed_of(actor, workload) if one.target == target.slug]
    return min(times, default=None)


def workload_peers(
    actor: Actor, workload: str, *, but: MLModel | None = None
) -> Sequence[WorkloadPeer]:
    """Where else a workload runs in published builds of readable models: the fastest call for each
    model and target, fastest first, at most :data:`_MOST_PEERS`.

    Args:
        but: A model to leave out.
    """
    if not workload:
        return []
    builds = readable_builds(actor).filter(withdrawn_at=None)
    rows = CallSite.objects.filter(kernel__workload=workload, profile__build__in=builds)
    if but is not None:
        rows = rows.exclude(profile__build__graph__revision__mlmodel=but)
    place = (
        "profile__build__graph__revision__mlmodel__namespace__name",
        "profile__build__graph__revision__mlmodel__name",
        "profile__build__target__slug",
    )
    fastest: dict[tuple[str, ...], WorkloadPeer] = {}
    counts = {
        tuple(row[name] for name in place): row["calls"]
        for row in rows.order_by()
        .values(*place)
        .annotate(calls=Count("pk"), least=Min("median_ns"))
    }
    columns = (*place, "profile__build__uuid", "sequence", "median_ns", "implementation")
    for row in rows.filter(median_ns__gt=0).order_by("median_ns", "pk").values(*columns):
        at = tuple(row[name] for name in place)
        if at in fastest:
            continue
        fastest[at] = WorkloadPeer(
            mlmodel=f"{at[0]}/{at[1]}",
            target=at[2],
            build=str(row["profile__build__uuid"]),
            sequence=row["sequence"],
            time_ns=row["median_ns"],
            calls=counts[at],
            is_tuned=row["implementation"] == TUNED,
        )
        if len(fastest) == _MOST_PEERS:
            break
    return list(fastest.values())
