"""What an upload brings about, by workers that only wake-up notifications reach.

Everything is real: broker, Celery workers, child processes, compilers, the database.
"""

import pytest

from registry.states import JobKind, JobState
from registry.tables import Build, Device, Job, PassTrial, ScheduleAblation, ScheduleTrial, User
from tests.e2e.workers import Start, until
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs

pytestmark = [needs("cc"), pytest.mark.django_db(transaction=True), pytest.mark.slow]

_BROUGHT = {
    JobKind.INSPECT,
    JobKind.TUNE,
    JobKind.REPRODUCE,
    JobKind.SCHEDULE,
    JobKind.ABLATE,
    JobKind.PASSES,
}


def test_an_upload_is_inspected_searched_reproduced_and_studied(start: Start, alice: User) -> None:
    start("hub")
    start(
        "target",
        HPCFAIR_SCHEDULE_SECONDS="5",
        HPCFAIR_ABLATION_SECONDS="5",
        HPCFAIR_PASSES_SECONDS="5",
    )
    until(Device.objects.exists)
    files = {"README.md": readme(), "model.onnx": tiny_onnx(features=64, classes=64)}
    make_mlmodel("alice/net", actor=alice, files=files)

    until(lambda: {job.kind for job in ended()} == _BROUGHT and not waiting())
    assert {job.state for job in ended()} == {JobState.SUCCEEDED}, failures()
    assert Build.objects.filter(withdrawn_at=None, is_baseline=True).count() == 1
    assert ScheduleTrial.objects.exists()
    assert ScheduleAblation.objects.exists()
    assert PassTrial.objects.exists()


def ended() -> list[Job]:
    return list(Job.objects.filter(ended_at__isnull=False))


def waiting() -> bool:
    return Job.objects.filter(ended_at=None, not_before=None).exists()


def failures() -> list[str]:
    return [f"{job.kind}: {job.failure_detail}" for job in ended() if job.failure_detail]
