"""Runs with a person's inputs: the panel of their job, the download and the deletion."""

from dataclasses import dataclass
from statistics import median
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hub.files import serve_blob
from hub.pages import chart
from hub.pages.views import act, page, signed_in
from registry.selectors.work.run import run_get, run_outputs
from registry.services.work.run import run_delete
from registry.states import JobKind
from registry.tables import Job, RemoteRun


@dataclass(frozen=True, slots=True)
class RunPanel:
    """A run on the page of its job.

    Attributes:
        inputs, outputs: Name and ``dtype[shape]`` of each array.
        durations: Chart of the timed runs; ``None`` before the end.
        median_ns: Median of the timed runs in nanoseconds.
        is_deleted: Whether its owner deleted the data.
    """

    run: RemoteRun
    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    durations: chart.Chart | None
    median_ns: float | None
    is_deleted: bool


def panel_of(request: HttpRequest, job: Job) -> RunPanel | None:
    """The panel of a run's job; ``None`` for other jobs."""
    if job.kind != JobKind.RUN:
        return None
    run = run_get(request.user, str(job.uuid))
    samples_ns = run.report.get("samples_ns", [])
    return RunPanel(
        run=run,
        inputs=[(name, _shown(array)) for name, array in run.arrays.items()],
        outputs=[(array["name"], _shown(array)) for array in run.report.get("outputs", [])],
        durations=chart.run_durations(samples_ns),
        median_ns=median(samples_ns) if samples_ns else None,
        is_deleted=run.inputs is None,
    )


@page
@require_safe
def outputs(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Download the outputs of a run."""
    run = run_get(request.user, str(uuid))
    blob = run_outputs(run)
    return serve_blob(
        request, blob, path=f"outputs-{run.job.uuid}.npz", cache_control="private, no-store"
    )


@page
@require_POST
def delete(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Delete the inputs and the outputs of a run."""
    run = run_get(request.user, str(uuid))
    actor = signed_in(request)
    done = "The inputs and outputs of the run are deleted."
    back = reverse("job", args=[uuid])
    return act(request, back, lambda: run_delete(actor=actor, run=run), done=done)


def _shown(array: dict[str, Any]) -> str:
    return f"{array['dtype']}[{', '.join(map(str, array['shape']))}]"
