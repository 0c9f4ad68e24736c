"""Experiments with the schedules of an operator workload: ablation and cross-application."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST

from hub.pages import chart
from hub.pages.chart import Reverted
from hub.pages.views import act, page, signed_in
from registry.selectors.access import Actor
from registry.selectors.analysis.ablation import ablations_of
from registry.selectors.analysis.crossapplication import (
    CrossMatrix,
    cross_matrices,
    foreign_schedules_count,
)
from registry.selectors.analysis.outcome import FAILURE_WORDS
from registry.selectors.analysis.workload import workload_get
from registry.selectors.analysis.workloadjob import open_experiments
from registry.services.analysis.ablation import ablation_submit
from registry.services.analysis.crossapplication import cross_submit
from registry.services.analysis.workloadjob import may_experiment
from registry.states import TrialOutcome
from registry.tables import CrossApplication, Job, ScheduleAblation, ScheduleTask
from registry.traces.errors import TraceError
from registry.traces.names import WorkloadNames
from registry.traces.sketch import Sketch

_WITHOUT_RATIO = {**FAILURE_WORDS, TrialOutcome.PRUNED: "timed once"}


@page
@require_POST
def ablate(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Queue an ablation."""
    return _queue(request, uuid, ablation_submit, "effects", "The ablation is queued.")


@page
@require_POST
def cross_apply(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Queue a measurement of schedules of other targets."""
    return _queue(request, uuid, cross_submit, "across", "The measurement is queued.")


def _queue(
    request: HttpRequest, uuid: UUID, submit: Callable[..., Job], section: str, done: str
) -> HttpResponseBase:
    """Queue a job on a workload and return to a section of its page."""
    actor = signed_in(request)
    task = workload_get(actor, str(uuid))
    back = f"{reverse('workload', args=[uuid])}#{section}"
    return act(request, back, lambda: submit(actor=actor, task=task), done=done)


def experiments_context(actor: Actor, task: ScheduleTask) -> dict[str, Any]:
    """What ``workload/ablation.html`` and ``workload/cross.html`` show of a readable workload."""
    rows = ablations_of(actor, task)
    control = next((row for row in rows if row.position < 0), None)
    variants = [row for row in rows if row.position >= 0]
    titles = _Titles(task, rows[0]) if rows else None
    reverted = [_reverted(row, titles) for row in variants if titles]
    count = Counter(row.label for row in reverted)
    # A decision with two variants has two bars.
    shown = [
        replace(row, label=f"{row.label}: {_short(each.reason)}") if count[row.label] > 1 else row
        for row, each in zip(reverted, variants, strict=True)
    ]
    noise = None
    if control is not None and control.ratio_low and control.ratio_high:
        noise = control.ratio_low, control.ratio_high
    return {
        "task": task,
        "ablation": rows[0] if rows else None,
        "tornado": chart.tornado(shown, noise=noise),
        "sentence": _sentence(reverted),
        "better": [row for row in reverted if row.verdict == "faster"],
        "noise": noise,
        "matrices": [_matrix(matrix) for matrix in cross_matrices(actor, task)],
        "others": foreign_schedules_count(actor, task),
        "may_experiment": may_experiment(actor, task),
        "open_experiments": open_experiments(actor, task),
    }


class _Titles:
    """Decisions of the best schedule in words; plain numbers if its sketch cannot be read."""

    def __init__(self, task: ScheduleTask, row: ScheduleAblation) -> None:
        self._decisions = row.trial.decisions
        try:
            self._sketch = Sketch(row.trial.sketch.instructions, WorkloadNames(task.blocks))
            self._points = {point.instruction: point for point in self._sketch.points}
        except TraceError:
            self._points = {}

    def title(self, position: int) -> str:
        """What is decided."""
        point = self._points.get(self._decisions[position][0])
        return point.title if point else f"decision {position + 1}"

    def text(self, position: int, value: Any) -> str:
        """A value in words."""
        point = self._points.get(self._decisions[position][0])
        try:
            return self._sketch.text_of(point, value) if point else str(value)
        except TraceError:
            return str(value)

    def change(self, row: ScheduleAblation) -> str:
        """From which value to which, and why."""
        best = self.text(row.position, self._decisions[row.position][1])
        return f"{best} → {self.text(row.position, row.alternative)} ({row.reason})"


def _reverted(row: ScheduleAblation, titles: _Titles) -> Reverted:
    return Reverted(
        titles.title(row.position),
        titles.change(row),
        row.verdict,
        row.ratio,
        row.ratio_low,
        row.ratio_high,
        "" if row.ratio is not None else _WITHOUT_RATIO.get(row.outcome, row.outcome),
    )


def _short(reason: str) -> str:
    """The reason of an alternative without its evidence: ``next best value``."""
    return reason.partition(",")[0].partition(" in ")[0]


def _sentence(rows: list[Reverted]) -> str:
    """The largest effect as a sentence; "" without one."""
    slower = [row for row in rows if row.verdict == "slower" and row.ratio is not None]
    if not slower:
        return ""
    top = max(slower, key=lambda row: row.ratio or 0.0)
    return f"Causal: reverting {top.label} costs {top.ratio:.2g}× [{top.low:.2g}, {top.high:.2g}]."


def _matrix(matrix: CrossMatrix) -> dict[str, Any]:
    return {
        "is_emulated": matrix.is_emulated,
        "targets": matrix.targets,
        "rows": [
            (source, [_cell(matrix.cells.get((source, target)), source == target)
                      for target in matrix.targets])
            for source in matrix.targets
        ],
    }  # fmt: skip


def _cell(row: CrossApplication | None, is_own: bool) -> dict[str, Any]:  # noqa: FBT001
    """A cell of the matrix: text, grade of the loss from 0 to 4, and the row."""
    if is_own:
        return {"text": "1", "note": "its own best", "grade": "own"}
    if row is None:
        return {"text": "–", "note": "not measured", "grade": "none"}
    if row.ratio is None:
        note = _WITHOUT_RATIO.get(row.outcome, row.outcome)
        return {"text": "failed", "note": note, "grade": "failed"}
    loss = 100 * (row.ratio - 1)
    return {
        "text": f"{row.ratio:.2f}",
        "note": f"[{row.ratio_low:.2f}, {row.ratio_high:.2f}]",
        "loss": f"{loss:+.0f} %",
        "grade": str(sum(row.ratio > limit for limit in (1.02, 1.1, 1.3, 2.0))),
    }
