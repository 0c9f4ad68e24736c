"""The search of a job: what its trials say. Of configurations, or of schedules by workload."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages import chart
from hub.pages.chart.axis import ratio_label
from hub.pages.decisionmatrix import matrix_of
from hub.pages.searchexport import SEARCH_FORMATS, export_search
from hub.pages.searchparts import choice_of, course_place, failure_rows
from hub.pages.views import page
from registry.selectors.analysis.configurationsearch import (
    class_outcomes,
    configuration_evidence,
    configuration_failures,
    configuration_rounds,
    configuration_trials,
    workloads_of_job,
)
from registry.selectors.analysis.evidence import round_of
from registry.selectors.analysis.workload import shape_of
from registry.selectors.work.job import job_get
from registry.states import TrialOutcome
from registry.statistics.noise import MARGIN
from registry.tables import Job, Trial

#: Shares that count as fast, by the parameter ``top``; searches of configurations are short.
_SHARES = {"10": 0.1, "25": 0.25, "50": 0.5}
_AMONG = {"all": "all measured candidates"}
_MOST_PEERS = 20


@page
def search(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """The search of a job, or its trials as data with the parameter ``format``."""
    job = job_get(request.user, str(uuid))
    trials = configuration_trials(job)
    if name := request.GET.get("format"):
        return export_search(request, job, trials, name)
    context: dict[str, Any] = {
        "section": "jobs",
        "job": job,
        "search": {"trials": trials},
        "workloads": [(task, shape_of(task.arguments)) for task in workloads_of_job(job)],
        "formats": SEARCH_FORMATS,
    }
    if trials:
        context |= _outcome(request, trials) | _model(job, trials) | _decisions(request, trials)
    return render(request, "search/page.html", context)


def _outcome(request: HttpRequest, trials: list[Trial]) -> dict[str, Any]:
    by = course_place(request)
    classes = class_outcomes(trials)
    return {
        "by": by.value,
        "course": chart.course(trials, by=by, classes=True),
        "classes": [(one, one.alike[:_MOST_PEERS], one.alike[_MOST_PEERS:]) for one in classes],
        "margin": MARGIN,
        "measured": sum(bool(trial.ratio) for trial in trials),
        "pruned": sum(trial.outcome == TrialOutcome.PRUNED for trial in trials),
        "duration_s": sum(trial.duration_s for trial in trials),
        "failures": failure_rows(configuration_failures(trials)),
    }


def _model(job: Job, trials: list[Trial]) -> dict[str, Any]:
    rounds = configuration_rounds(trials)
    pairs = [
        (trial.number, trial.predicted_ratio, trial.ratio)
        for trial in trials
        if trial.predicted_ratio is not None and trial.ratio
    ]
    return {
        "pooled": round_of(pairs) if pairs else None,
        "model_rounds": chart.model_by_round(rounds),
        "predicted_measured": chart.predicted_ratios(trials),
        "model_subject": f"ranking of the search of {job.revision.mlmodel.full_name}",
    }


def _decisions(request: HttpRequest, trials: list[Trial]) -> dict[str, Any]:
    top = choice_of(request, "top", _SHARES, "25")
    evidence = configuration_evidence(trials, _SHARES[top])
    return {
        "matrix": matrix_of(evidence, _SHARES[top], ratio_label),
        "matrix_title": "Which options fast candidates share",
        "top": top,
        "tops": list(_SHARES),
        "among": "all",
        "amongs": _AMONG,
    }
