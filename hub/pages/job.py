"""Jobs, with live progress."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hub.pages import chart
from hub.pages.addresses import newest_first
from hub.pages.frame import repository_page
from hub.pages.progress import announcement, gain_so_far, summary_of
from hub.pages.run import panel_of
from hub.pages.views import page
from registry.selectors.access import may
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.reproduction import of_job
from registry.selectors.work.job import (
    best_trials,
    events_of,
    job_get,
    job_version,
    jobs_of,
    trials_of,
)
from registry.selectors.work.queue import waits_of
from registry.services.work.device import device_check
from registry.services.work.job import job_cancel
from registry.states import JobKind, JobState, Role
from registry.tables import MLModel
from registry.transitions import JOB_ENDED

#: Status at which htmx stops polling.
_STOP_POLLING = 286


@page
def jobs(request: HttpRequest) -> HttpResponseBase:
    """All readable jobs, newest first, filtered by state, kind and target."""
    rows = jobs_of(
        request.user,
        state=request.GET.get("state") or None,
        kind=request.GET.get("kind") or None,
        target=request.GET.get("target") or None,
    )
    shown, older = newest_first(rows, request)
    context = {
        "section": "jobs",
        "jobs": shown,
        "older": older,
        "states": JobState.values,
        "kinds": JobKind.values,
        "state": request.GET.get("state", ""),
        "kind": request.GET.get("kind", ""),
        "live": any(job.state not in JOB_ENDED for job in shown),
    }
    if request.htmx:  # type: ignore[attr-defined]
        status = 200 if context["live"] else _STOP_POLLING
        return render(request, "job/rows.html", context, status=status)
    return render(request, "job/list.html", context)


@page
def job(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """One job: progress, course of the search, log.

    While it runs, htmx fetches the progress each second, and the rest if the version of the job is
    not the one in the parameter ``seen``.
    """
    row = job_get(request.user, str(uuid))
    if row.state == JobState.QUEUED:
        # Its wait reason says whether a device is online.
        device_check()
    version = job_version(row)
    best = best_trials([row]).get(row.pk)
    context = {
        "section": "jobs",
        "job": row,
        "ended": row.state in JOB_ENDED,
        "wait": waits_of([row]).get(row.pk),
        "version": version,
        "best": best,
        "gain": gain_so_far(best),
        # A run is visible to its requester only.
        "may_cancel": row.kind == JobKind.RUN
        or may(request.user, role=Role.WRITE, namespace=row.revision.mlmodel.namespace),
    }
    is_live = request.htmx  # type: ignore[attr-defined]
    if is_live and request.GET.get("seen") == version:
        return render(request, "job/status.html", context)
    context |= {
        "course": chart.course(list(trials_of(row))),
        "events": events_of(row),
        "reproductions": of_job(row),
        "panel": panel_of(request, row),
        "announcement": announcement(row, best),
    }
    return render(request, "job/live.html" if is_live else "job/page.html", context)


@page
@require_POST
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Cancel a job."""
    row = job_get(request.user, str(uuid))
    job_cancel(actor=request.user, job=row)
    messages.success(request, "The job is being cancelled.")
    return redirect("job", uuid=uuid)


@repository_page
@require_safe
def summary(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """One line about the jobs of a revision, which htmx fetches while one is open."""
    revision = revision_get(mlmodel, request.GET.get("revision") or None)
    context = {"mlmodel": mlmodel, "revision": revision, "summary": summary_of(revision)}
    return render(request, "job/summary.html", context)
