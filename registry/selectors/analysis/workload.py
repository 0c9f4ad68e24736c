"""Reads of operator workloads, by who may see a model that uses them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery

from registry.errors import Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_mlmodels, readable_workloads
from registry.states import TrialOutcome
from registry.tables import Graph, MLModel, ScheduleTask, ScheduleTrial

#: Longest valid time in seconds; TVM writes 1e10 for a run that did not end.
LONGEST_S = 1e6
#: Orders of the list: columns, unique together.
ORDERS = {
    "newest": ("-id",),
    "flops": ("-flops", "-id"),
    "name": ("anchor", "id"),
}
_TIMED = Q(outcome__in=[TrialOutcome.MEASURED, TrialOutcome.PRUNED])
_REAL = Q(median_s__gt=0, median_s__lt=LONGEST_S)


@dataclass(frozen=True, slots=True)
class WorkloadUse:
    """A readable model that uses a workload, and its number of calls per run."""

    mlmodel: MLModel
    calls: int


def workload_get(actor: Actor, uuid: str) -> ScheduleTask:
    """The readable workload of that UUID. Raises ``NotFound``: ``workload_not_found``, also for one
    that only models use which the actor may not read."""
    rows = readable_workloads(actor).select_related("target")
    task = rows.filter(uuid=parse_uuid(uuid)).first()
    if task is None:
        raise NotFound(
            "workload_not_found",
            f"There is no workload {uuid[:64]!r}.",
            "Check the id, or sign in if a private model uses it.",
        )
    return task


def order_of(name: str) -> tuple[str, ...]:
    """Columns of an order of :data:`ORDERS`. Raises ``Invalid``: ``invalid_request``."""
    if name not in ORDERS:
        names = ", ".join(ORDERS)
        raise Invalid("invalid_request", f"The order is one of {names}.", fields={"sort": names})
    return ORDERS[name]


def workloads_of(actor: Actor, *, target: str = "", query: str = "") -> QuerySet[ScheduleTask]:
    """Readable workloads with ``trial_count``, ``best_s`` and ``confirmed_s``, without an order.

    ``query`` is part of an operator's or a function's name.
    """
    rows = readable_workloads(actor).select_related("target")
    if target:
        rows = rows.filter(target__slug=target)
    if query:
        rows = rows.filter(Q(anchor__icontains=query) | Q(name__icontains=query))
    own = ScheduleTrial.objects.filter(task=OuterRef("pk")).order_by().values("task")
    return rows.annotate(
        trial_count=Subquery(own.annotate(n=Count("pk")).values("n")),
        best_s=Subquery(own.filter(_TIMED & _REAL).annotate(n=Min("median_s")).values("n")),
        confirmed_s=Subquery(
            ScheduleTrial.objects.filter(task=OuterRef("pk"), confirmed_at__isnull=False)
            .order_by("-confirmed_at", "-id")
            .values("confirmed_s")[:1]
        ),
    )


def uses_of(actor: Actor, task: ScheduleTask) -> list[WorkloadUse]:
    """Readable models whose networks use a workload, most calls first."""
    calls = dict(task.uses.values_list("graph_hash", "calls"))
    graphs = Graph.objects.filter(
        graph_hash__in=calls, revision__mlmodel__in=readable_mlmodels(actor)
    )
    most: dict[int, int] = {}
    for mlmodel, graph_hash in graphs.values_list("revision__mlmodel", "graph_hash").distinct():
        most[mlmodel] = max(most.get(mlmodel, 0), calls[graph_hash])
    rows = MLModel.objects.filter(pk__in=most).select_related("namespace")
    uses = [WorkloadUse(row, most[row.pk]) for row in rows]
    return sorted(uses, key=lambda use: (-use.calls, use.mlmodel.full_name))


def schedule_trials_of(task: ScheduleTask) -> QuerySet[ScheduleTrial]:
    """All trials of a workload that the caller may read, with their sketches."""
    return task.trials.select_related("sketch", "task").defer("trace")


def is_time(outcome: str, median_s: float | None) -> bool:
    """Whether a median is a time: not a failure's, and not a sentinel."""
    is_timed = outcome in {TrialOutcome.MEASURED, TrialOutcome.PRUNED}
    return is_timed and median_s is not None and 0 < median_s < LONGEST_S


def on_other_targets(actor: Actor, task: ScheduleTask) -> QuerySet[ScheduleTask]:
    """The same workload on other targets or with other versions of the compiler."""
    rows = readable_workloads(actor).filter(key=task.key).exclude(pk=task.pk)
    return rows.select_related("target").order_by("target__slug", "toolchain")


def shape_of(arguments: Iterable[Any]) -> str:
    """Shapes of a workload's arguments: ``1×28×28×32, 3×3×32×64``; dtypes unless float32."""
    texts = []
    for argument in arguments:
        size = "×".join(map(str, argument.get("shape", ()))) or "scalar"
        dtype = argument.get("dtype", "")
        texts.append(size if dtype in {"", "float32"} else f"{size} {dtype}")
    return ", ".join(texts)
