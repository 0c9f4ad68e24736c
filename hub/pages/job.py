"""Jobs, with live progress."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from hub.pages import charts
from hub.pages.addresses import newest_first
from hub.pages.views import page
from registry.selectors.results.reproduction import of_job
from registry.selectors.work.job import events_of, job_get, jobs_of, trials_of
from registry.selectors.work.queue import waits_of
from registry.services.work.job import job_cancel
from registry.states import JOB_ENDED, JobKind, JobState
from registry.tables import Trial

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
    template = "job/rows.html" if request.htmx else "job/list.html"  # type: ignore[attr-defined]
    return render(request, template, context)


@page
def job(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """One job: progress, trials so far, log."""
    row = job_get(request.user, str(uuid))
    trials = list(trials_of(row))
    ended = row.state in JOB_ENDED
    context = {
        "section": "jobs",
        "job": row,
        "ended": ended,
        "wait": waits_of([row]).get(row.pk),
        "trials": trials,
        "course": charts.search_course([_point(trial) for trial in trials]),
        "events": events_of(row),
        "reproductions": of_job(row),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "job/live.html", context, status=_STOP_POLLING if ended else 200)
    return render(request, "job/page.html", context)


@page
@require_POST
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Cancel a job."""
    row = job_get(request.user, str(uuid))
    job_cancel(actor=request.user, job=row)
    messages.success(request, "The job is being cancelled.")
    return redirect("job", uuid=uuid)


def _point(trial: Trial) -> charts.Point:
    options = ", ".join(f"{name}={value}" for name, value in trial.candidate["options"].items())
    result = f"{trial.ratio:.3f}×" if trial.ratio else trial.outcome
    return charts.Point(
        number=trial.number,
        ratio=trial.ratio,
        low=trial.ratio_low,
        high=trial.ratio_high,
        label=f"{trial.number}: {trial.candidate['backend']} {options}: {result}",
    )
