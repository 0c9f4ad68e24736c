"""Ablations and cross-applications on the real thing: TVM in children, rows in the hub."""

from typing import Any

import pytest

from registry.selectors.analysis.ablation import ablations_of
from registry.selectors.analysis.crossapplication import cross_matrices
from registry.services.analysis.ablation import ablation_submit
from registry.services.analysis.crossapplication import cross_submit
from registry.services.work.job import job_submit
from registry.services.work.target import target_register
from registry.states import JobKind, JobState
from registry.tables import Job, MLModel, ScheduleTask, ScheduleTrial, Target, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from workers.jobs import run
from workers.jobs.device import register

pytestmark = [needs("cc"), pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def searched(alice: User, settings: Any) -> ScheduleTask:
    """The workload with most arithmetic of a tiny network, after a search for its schedules."""
    settings.SCHEDULE_S = settings.ABLATION_S = 600
    here = register()
    model = tiny_onnx(features=64, classes=64)
    content: dict[str, bytes | str] = {"README.md": readme(), "model.onnx": model}
    made = make_mlmodel("alice/net", actor=alice, files=content)
    run.drain([JobKind.INSPECT], here=None)
    Job.objects.filter(kind=JobKind.TUNE).update(state=JobState.CANCELLED)
    job_submit(
        actor=None,
        kind=JobKind.SCHEDULE,
        revision=MLModel.objects.get(pk=made.pk).refs.get(name="main").revision,
        target=Target.objects.get(),
        parameters={"trials": 6},
    )
    run.drain([JobKind.SCHEDULE], here=here)
    # Ablations would yield to searches. Without any, a device that registers would queue one.
    Job.objects.filter(kind=JobKind.TUNE).update(state=JobState.CANCELLED)
    confirmed = ScheduleTrial.objects.filter(confirmed_at__isnull=False)
    return ScheduleTask.objects.filter(trials__in=confirmed).order_by("-flops")[0]


def test_the_decisions_of_a_real_schedule_are_reverted_and_schedules_taken_over(
    searched: ScheduleTask,
) -> None:
    # Its ablation was planned when the search ended.
    job = Job.objects.get(kind=JobKind.ABLATE, parameters__workload=str(searched.uuid))
    assert ablation_submit(actor=None, task=searched) == job
    Job.objects.filter(kind=JobKind.ABLATE).exclude(pk=job.pk).delete()
    here = register()
    run.drain([JobKind.ABLATE], here=here)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    control, *rows = ablations_of(None, searched)
    assert (control.position, control.outcome) == (-1, "measured")
    assert job.result["variants"] == len(rows) + 1
    decisions = control.trial.decisions
    assert {row.position for row in rows} <= set(range(len(decisions)))
    tiles = [n for n, (_, value) in enumerate(decisions) if isinstance(value, list)]
    assert {row.position for row in rows} & set(tiles)
    for row in rows:
        assert row.alternative != decisions[row.position][1]
        assert row.reason
        if row.outcome == "measured":
            assert row.ratio_low <= row.ratio <= row.ratio_high
            assert len(row.seconds) == len(row.best_seconds) >= 12
    assert any(row.outcome == "measured" for row in rows)
    take_over(searched)
    refuse(searched)


def take_over(searched: ScheduleTask) -> None:
    """Another target has a schedule of the workload, which runs here beside the best one."""
    best = searched.trials.filter(confirmed_at__isnull=False).latest("confirmed_at")
    other = target_register(slug="x86-64-v2", title="", architecture="x86-64", features=[], rank=1)
    source = searched.source
    there = ScheduleTask.objects.create(
        key=searched.key, target=other, toolchain=searched.toolchain, name=searched.name,
        anchor=searched.anchor, flops=searched.flops, source=source,
    )  # fmt: skip
    foreign = searched.trials.filter(outcome="measured").exclude(pk=best.pk).first() or best
    ScheduleTrial.objects.create(
        task=there, number=0, job=best.job if foreign == best else None, sketch=foreign.sketch,
        decisions=foreign.decisions, digest=foreign.digest, proposed_by="random",
        outcome="measured", seconds=[1.0], median_s=1.0, confirmed=[1.0], confirmed_s=1.0,
        confirmed_at=best.confirmed_at, trace=best.trace, duration_s=1.0,
    )  # fmt: skip
    # A better variant of the ablation queued a search, to which the job would yield.
    Job.objects.filter(kind=JobKind.TUNE).update(state=JobState.CANCELLED)
    cross_submit(actor=None, task=searched)
    run.drain([JobKind.CROSS], here=register())
    job = Job.objects.get(kind=JobKind.CROSS)
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    (matrix,) = cross_matrices(None, searched)
    row = matrix.cells["x86-64-v2", searched.target.slug]
    assert row.outcome == "measured"
    assert row.ratio_low <= row.ratio <= row.ratio_high


def refuse(searched: ScheduleTask) -> None:
    """A workload that another compiler made is refused before anything is built."""
    ScheduleTask.objects.filter(pk=searched.pk).update(toolchain="apache-tvm 0.1")
    job = ablation_submit(actor=None, task=searched)
    run.drain([JobKind.ABLATE], here=register())
    job.refresh_from_db()
    assert (job.state, job.failure_code) == (JobState.FAILED, "no_backend")
    assert "apache-tvm 0.1" in job.failure_detail
