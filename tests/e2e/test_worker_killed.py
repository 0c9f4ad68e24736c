"""SIGKILL in the middle of a search: the job resumes, no finished trial runs again.

Everything is real: broker, Celery workers, child processes, ONNX Runtime, the database.
"""

import signal

import pytest

from registry.states import JobKind, JobState, TrialOutcome
from registry.tables import Build, Device, Job, Trial, User
from tests.e2e.workers import Start, until
from tests.factories import make_mlmodel, readme, tiny_onnx

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_work_waits_for_its_worker_and_a_killed_search_repeats_nothing(
    start: Start, alice: User
) -> None:
    start("beat")
    worker = start("target")
    until(Device.objects.exists)
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    make_mlmodel("alice/net", actor=alice, files=files)
    # Who inspects it starts later.
    start("hub")
    # A busy machine spends a search's time on its first candidate; the baseline is always tried.
    until(Trial.objects.exists)
    assert Job.objects.get(kind=JobKind.INSPECT).state == JobState.SUCCEEDED
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    before = {trial.pk: trial.config_sha256 for trial in Trial.objects.all()}
    killed = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert killed.state == JobState.LEASED

    start("target")
    searches = Job.objects.filter(kind=JobKind.TUNE)
    until(lambda: searches.earliest("id").state not in {"queued", "leased"})
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.attempt > killed.attempt
    assert job.fence > killed.fence
    trials = list(Trial.objects.exclude(outcome=TrialOutcome.INFRASTRUCTURE))
    assert before.items() <= {trial.pk: trial.config_sha256 for trial in trials}.items()
    assert len({trial.config_sha256 for trial in trials}) == len(trials)
    assert Build.objects.filter(withdrawn_at=None, is_baseline=True).count() == 1
