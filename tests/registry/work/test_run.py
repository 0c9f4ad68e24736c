"""Runs with a person's inputs: permission, checks before a job is queued, visibility."""

import io
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from registry import storage
from registry.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge, Unauthenticated
from registry.selectors.repository.revision import revision_get
from registry.selectors.storage.blob import blobs_usable
from registry.selectors.work.job import job_get, jobs_of, newest_jobs, open_jobs
from registry.selectors.work.jobblob import blobs_of_job
from registry.selectors.work.run import run_get, run_of_job
from registry.services.work.attempt import job_succeed
from registry.services.work.job import job_cancel
from registry.services.work.operations import job_write
from registry.services.work.run import run_delete, run_store, runs_expire
from registry.services.work.target import target_enable
from registry.states import JobState, Scope
from registry.tables import (
    AuditEntry,
    Blob,
    Device,
    Job,
    MLModel,
    Namespace,
    RemoteRun,
    Target,
    User,
)
from tests.factories import make_mlmodel, make_token, store, tiny_onnx
from tests.registry.work.runs import claim, finish, inputs, inspected, npz, report, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(galaxy: MLModel) -> Target:
    """A target for ``lab/galaxy-cnn``, which is inspected."""
    return inspected(galaxy)


def test_anybody_runs_a_public_model_as_often_as_they_like(
    alice: User, bob: User, galaxy: MLModel, target: Target
) -> None:
    runs = [submit(user, galaxy, target) for user in (alice, alice, bob)]
    assert len({run.job_id for run in runs}) == 3
    assert {run.job.state for run in runs} == {JobState.QUEUED}
    assert runs[0].arrays == {"x": {"dtype": "float32", "shape": [2, 4]}}
    assert runs[0].build is None
    assert "not tuned yet" in runs[0].reason


def test_a_run_is_seen_by_its_owner_alone(
    alice: User, bob: User, charlie: User, galaxy: MLModel, target: Target
) -> None:
    job = submit(alice, galaxy, target).job
    uuid = str(job.uuid)
    revision = revision_get(galaxy)
    assert job_get(alice, uuid) == job
    assert run_get(alice, uuid).job == job
    for other in (bob, charlie):
        for read in (job_get, run_get):
            with pytest.raises(NotFound):
                read(other, uuid)
        assert job not in jobs_of(other)
    assert job in jobs_of(alice)
    assert job not in [*open_jobs(revision), *newest_jobs(revision)]
    job_cancel(actor=alice, job=job)
    assert job not in [*open_jobs(revision), *newest_jobs(revision)]
    # The audit log of the model's owners does not name it either.
    entries = AuditEntry.objects.filter(action__in=["job.submit", "job.cancel"], actor=alice)
    assert set(entries.values_list("namespace", flat=True)) == {""}


def test_who_may_not_fetch_the_files_may_not_run_them(
    alice: User, secret: MLModel, galaxy: MLModel, target: Target
) -> None:
    galaxy.gate = "manual"
    galaxy.save()
    with pytest.raises(Forbidden) as refusal:
        submit(alice, galaxy, target)
    assert refusal.value.code == "access_gated"
    make_token(alice, Scope.READ)
    alice.token = alice.tokens.get()
    digest = inputs(alice.__class__.objects.get(pk=alice.pk))
    with pytest.raises(Forbidden) as refusal:
        submit(alice, galaxy, target, inputs=digest)
    assert refusal.value.code == "scope_missing"
    with pytest.raises(Unauthenticated):
        submit(None, galaxy, target, inputs=digest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arrays", "fault"),
    [
        ({"y": np.zeros((2, 4), np.float32)}, {"x", "y"}),
        ({"x": np.zeros((2, 5), np.float32)}, {"x"}),
        ({"x": np.zeros((2, 4), np.float64)}, {"x"}),
        ({"x": np.array([object()])}, set()),
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_anything_is_queued(
    alice: User, galaxy: MLModel, target: Target, arrays: dict[str, Any], fault: set[str]
) -> None:
    digest = store(npz(**arrays), alice).sha256
    with pytest.raises(Invalid) as refusal:
        submit(alice, galaxy, target, inputs=digest)
    assert (refusal.value.code, refusal.value.fields.keys()) == ("invalid_inputs", fault)
    assert not Job.objects.filter(kind="run").exists()


def test_inputs_of_somebody_else_cannot_be_named(
    alice: User, bob: User, galaxy: MLModel, target: Target
) -> None:
    digest = inputs(bob)
    for unusable in (digest, "0" * 64, "no digest"):
        with pytest.raises(NotFound) as refusal:
            submit(alice, galaxy, target, inputs=unusable)
        assert refusal.value.code == "blob_not_found"


def test_large_inputs_are_refused(
    alice: User, galaxy: MLModel, target: Target, settings: Any
) -> None:
    settings.RUN_BYTES = 500
    with pytest.raises(TooLarge):
        submit(alice, galaxy, target, inputs=inputs(alice, rows=40))
    # A small archive of many zeros is large in memory.
    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.zeros((1000, 4), np.float32))
    settings.RUN_BYTES = 5000
    assert len(stream.getvalue()) < settings.RUN_BYTES
    with pytest.raises(TooLarge, match="16000 bytes in memory"):
        submit(alice, galaxy, target, inputs=store(stream.getvalue(), alice).sha256)


def test_targets_that_nobody_may_use_are_refused(
    alice: User, galaxy: MLModel, target: Target
) -> None:
    target = target_enable(actor=None, slug=target.slug, enabled=False)
    with pytest.raises(Invalid, match="disabled") as refusal:
        submit(alice, galaxy, target)
    assert refusal.value.code == "invalid_target"


def test_a_model_that_is_not_inspected_is_refused(alice: User, target: Target) -> None:
    plain = make_mlmodel("alice/new", actor=alice, files={"model.onnx": tiny_onnx(features=6)})
    with pytest.raises(NotFound) as refusal:
        submit(alice, plain, target)
    assert refusal.value.code == "graph_not_found"


def test_quotas_of_seconds_bytes_and_jobs_hold(
    alice: User, galaxy: MLModel, target: Target, settings: Any
) -> None:
    own = Namespace.objects.get(name="alice")
    settings.RUN_S = 100
    own.quota_run_seconds = 250
    own.save()
    submit(alice, galaxy, target)
    submit(alice, galaxy, target)
    with pytest.raises(Forbidden, match="200 of at most 250 seconds") as refusal:
        submit(alice, galaxy, target)
    assert refusal.value.code == "quota_exceeded"
    assert "manage.py quota alice --run-seconds" in refusal.value.hint
    # A run that has ended counts with its real duration.
    finish(target)
    submit(alice, galaxy, target)
    own.quota_run_seconds, own.quota_run_mib = -1, 2
    own.save()
    with pytest.raises(Forbidden, match="1 of at most 2 MiB"):
        submit(alice, galaxy, target, inputs=inputs(alice, rows=2**17))
    own.quota_run_mib, own.quota_jobs = None, 2
    own.save()
    with pytest.raises(Forbidden, match="2 of at most 2 jobs"):
        submit(alice, galaxy, target)


def test_a_worker_reads_the_run_and_stores_its_report(
    alice: User, galaxy: MLModel, target: Target
) -> None:
    run = submit(alice, galaxy, target)
    assert run.inputs is not None
    ticket = claim(target)
    described = run_of_job(ticket.job_uuid)
    assert described.build is None
    assert (described.inputs.sha256, described.limit_s) == (run.inputs.sha256, run.limit_s)
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    outputs = store(b"outputs").sha256
    assert run.inputs.sha256 in blobs_of_job(run.job, [run.inputs.sha256, outputs])
    # A device may name only what it has sent.
    columns = {"report": report(), "outputs": outputs}
    device = Device.objects.get(name="floor-1")
    with pytest.raises(Invalid) as unsent:
        job_write(**held, name="run_store", columns=columns, number=1, device=device)
    assert unsent.value.code == "blob_missing"
    for _ in range(2):
        run_store(**held, report=report(), outputs=outputs)
    stored = run_get(alice, ticket.job_uuid)
    assert (stored.outputs_id, stored.report) == (outputs, report())
    assert stored.expires_at > run.expires_at
    with pytest.raises(Conflict, match="no longer holds"):
        run_store(
            job_uuid=ticket.job_uuid, fence=ticket.fence + 1, report=report(), outputs=outputs
        )
    # Nobody may name the bytes of the outputs in a commit.
    assert not blobs_usable(alice, [outputs])


@pytest.mark.parametrize(
    "columns",
    [
        {"samples_ns": [0]},
        {"samples_ns": "many"},
        {"deviation": {"max_absolute": 1.0}},
        {"deviation": {**report()["deviation"], "cosine": float("nan")}},
        {"secret": 1},
        {"not_compared": "x" * 2000},
    ],
)
def test_reports_of_another_form_are_refused(
    alice: User, galaxy: MLModel, target: Target, columns: dict[str, Any]
) -> None:
    submit(alice, galaxy, target)
    ticket = claim(target)
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    with pytest.raises(Invalid) as refusal:
        run_store(**held, report=report(**columns), outputs=store(b"outputs").sha256)
    assert refusal.value.code == "invalid_request"
    with pytest.raises(Invalid) as refusal:
        run_store(**held, report=report(), outputs="0" * 64)
    assert refusal.value.code == "blob_missing"


def test_outputs_are_limited_as_well(
    alice: User, galaxy: MLModel, target: Target, settings: Any
) -> None:
    submit(alice, galaxy, target)
    ticket = claim(target)
    settings.RUN_BYTES = 5
    with pytest.raises(TooLarge, match="outputs take 7 bytes"):
        run_store(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            report=report(),
            outputs=store(b"outputs").sha256,
        )


def test_only_the_owner_cancels_a_run(
    alice: User, charlie: User, galaxy: MLModel, target: Target
) -> None:
    run = submit(alice, galaxy, target)
    with pytest.raises(Forbidden):
        job_cancel(actor=charlie, job=run.job)
    assert job_cancel(actor=alice, job=run.job).state == JobState.CANCELLED


def test_a_deleted_run_leaves_no_bytes(alice: User, galaxy: MLModel, target: Target) -> None:
    run = submit(alice, galaxy, target)
    with pytest.raises(Conflict) as refusal:
        run_delete(actor=alice, run=run)
    assert refusal.value.code == "not_ended"
    finish(target)
    run = run_get(alice, str(run.job.uuid))
    digests = [run.inputs_id, run.outputs_id]
    run_delete(actor=alice, run=run)
    left = run_get(alice, str(run.job.uuid))
    assert (left.inputs, left.outputs, left.report, left.arrays) == (None, None, {}, {})
    assert not Blob.objects.filter(pk__in=digests).exists()
    for digest in digests:
        assert digest is not None
        with pytest.raises(NotFound):
            storage.blob_store().open(digest)


def test_bytes_that_others_use_survive_a_deletion(
    alice: User, bob: User, galaxy: MLModel, target: Target
) -> None:
    first, second = submit(alice, galaxy, target), submit(bob, galaxy, target)
    assert first.inputs_id == second.inputs_id
    finish(target)
    finish(target)
    run_delete(actor=alice, run=run_get(alice, str(first.job.uuid)))
    assert Blob.objects.filter(pk=second.inputs_id, condemned_at=None).exists()
    # Nor are bytes that somebody else uploaded and may publish soon.
    run_delete(actor=bob, run=run_get(bob, str(second.job.uuid)))
    assert Blob.objects.filter(pk=second.inputs_id, condemned_at=None).exists()


def test_expired_runs_disappear_unless_a_worker_holds_them(
    alice: User, galaxy: MLModel, target: Target
) -> None:
    done, running, waiting = (submit(alice, galaxy, target) for _ in range(3))
    finish(target)
    ticket = claim(target)
    assert ticket.job_uuid == str(running.job.uuid)
    RemoteRun.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert runs_expire() == 2
    assert list(Job.objects.filter(kind="run")) == [running.job]
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    run_store(**held, report=report(), outputs=store(b"late").sha256)
    job_succeed(**held, result={"summary": "done"})
    assert runs_expire() == 0
    RemoteRun.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert runs_expire() == 1
    assert not Blob.objects.filter(pk__in=[done.inputs_id, waiting.inputs_id]).exists()
