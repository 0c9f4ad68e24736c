"""Operator workloads: the list, and the page of the search for schedules of one."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response

from hub.pages import chart
from hub.pages.addresses import newest_first
from hub.pages.decisionmatrix import matrix_of
from hub.pages.experiment import experiments_context
from hub.pages.searchparts import choice_of, course_place, failure_rows
from hub.pages.views import page
from hub.pages.workloadexport import FORMATS, export
from registry.selectors.access import Actor
from registry.selectors.analysis.alignedschedules import aligned
from registry.selectors.analysis.evidence import (
    evidence_of,
    failures_of,
    map_of,
    peers_of,
    pooled,
    rounds_of,
)
from registry.selectors.analysis.workload import (
    ORDERS,
    on_other_targets,
    order_of,
    shape_of,
    uses_of,
    workload_get,
    workloads_of,
)
from registry.selectors.analysis.workloadcolumns import columns_of
from registry.selectors.analysis.workloadoutcome import outcome_of, rivals_of
from registry.selectors.analysis.workloadsearch import WorkloadSearch, search_of
from registry.selectors.work.job import job_names
from registry.selectors.work.target import targets
from registry.statistics.noise import MARGIN, Likeness
from registry.tables import ScheduleTask

#: Shares that count as fast, by the parameter ``top``.
_SHARES = {"5": 0.05, "10": 0.1, "20": 0.2}
#: Trials that are compared, by the parameter ``among``.
_AMONG = {"all": "all trials", "random": "random trials only"}
_ORDER_NAMES = {"newest": "Newest", "flops": "Most operations", "name": "Operator"}
#: Peers of the best in the table.
_MOST_PEERS = 50


@page
def workloads(request: HttpRequest) -> HttpResponseBase:
    """Readable workloads, by parameters ``target``, ``q`` and ``sort``."""
    target, query = request.GET.get("target", ""), request.GET.get("q", "").strip()
    sort = request.GET.get("sort") or next(iter(ORDERS))
    order = order_of(sort)
    rows = workloads_of(request.user, target=target, query=query)
    shown, more = newest_first(rows, request, order)
    context = {
        "section": "workloads",
        "workloads": [(row, shape_of(row.arguments[:-1] or row.arguments)) for row in shown],
        "more": more,
        "targets": list(targets().values_list("slug", flat=True)),
        "target": target,
        "query": query,
        "sort": sort,
        "sort_names": _ORDER_NAMES,
    }
    return render(request, "workload/list.html", context)


@page
def workload(request: HttpRequest, uuid: str) -> HttpResponseBase:
    """A workload with its search, or as data with the parameter ``format``."""
    task = workload_get(request.user, str(uuid))
    search = search_of(task)
    if name := request.GET.get("format"):
        return export(request, task, search, name)
    context = {
        "section": "workloads",
        "task": task,
        "shape": shape_of(task.arguments),
        "uses": uses_of(request.user, task),
        "elsewhere": list(on_other_targets(request.user, task)),
        "search": search,
        "formats": FORMATS,
        **_progress(request, task, search),
        **_model(search),
        **_decisions(request, search),
        **_peers(search),
        "failures": failure_rows(failures_of(search)),
        "aligned": aligned(search),
        "space": map_of(search),
        **experiments_context(request.user, task),
    }
    return render(request, "workload/page.html", context)


@page
def columns(request: HttpRequest, uuid: str) -> HttpResponseBase:
    """The timed trials as columns, for the views of the space; their version is the validator."""
    search = search_of(workload_get(request.user, str(uuid)))
    etag = f'"{search.version}.columns"'
    response = get_conditional_response(request, etag=etag)
    if response is not None:
        return response
    answer = JsonResponse(columns_of(search))
    answer["ETag"] = etag
    answer["Cache-Control"] = "private, no-cache"
    return answer


def _progress(request: HttpRequest, task: ScheduleTask, search: WorkloadSearch) -> dict[str, Any]:
    by = course_place(request)
    rivals = rivals_of(request.user, task)
    jobs = _jobs(request.user, search)
    outcome = outcome_of(search)
    return {
        "outcome": outcome,
        "rivals": rivals,
        "by": by.value,
        "jobs": jobs.values(),
        "best_so_far": chart.best_so_far(search.trials, rivals, jobs, by=by),
        "has_spread": any(len(trial.seconds) > 1 for trial in search.trials),
    }


def _jobs(actor: Actor, search: WorkloadSearch) -> dict[int | None, tuple[str, str]]:
    """Name and address of each job; the address is "" if the reader may not see its model."""
    jobs = job_names(actor, [trial.job for trial in search.trials])
    return {
        key: (name, reverse("job", args=[uuid]) if uuid else "")
        for key, (name, uuid) in jobs.items()
    }


def _model(search: WorkloadSearch) -> dict[str, Any]:
    rounds = rounds_of(search)
    return {
        "rounds": rounds,
        "pooled": pooled(search),
        "model_rounds": chart.model_by_round(rounds),
        "predicted_measured": chart.predicted_and_measured(search.trials),
    }


def _decisions(request: HttpRequest, search: WorkloadSearch) -> dict[str, Any]:
    top = choice_of(request, "top", _SHARES, "10")
    among = choice_of(request, "among", _AMONG, "all")
    evidence = evidence_of(search, _SHARES[top], "random" if among == "random" else "all")
    matrix = matrix_of(evidence, _SHARES[top])
    return {
        "matrix": matrix,
        "top": top,
        "tops": list(_SHARES),
        "among": among,
        "amongs": _AMONG,
        "unreadable": int(search.table.unreadable.sum()),
    }


def _peers(search: WorkloadSearch) -> dict[str, Any]:
    peers = peers_of(search)
    counts = {kind.value: sum(peer.likeness == kind for peer in peers) for kind in Likeness}
    alike = [peer for peer in peers if peer.likeness in {Likeness.EQUAL, Likeness.UNDECIDED}]
    return {
        "peers": alike[:_MOST_PEERS],
        "peers_hidden": max(0, len(alike) - _MOST_PEERS),
        "peers_compared": len(peers),
        "peer_counts": counts,
        "margin": MARGIN,
    }
