"""Runs with a person's inputs by the real runtime, in real child processes."""

import io
import threading
from typing import Any

import numpy as np
import pytest

from hpcfair.signature import Signature
from registry.errors import Invalid
from registry.selectors.repository.revision import revision_get
from registry.selectors.work.run import run_get
from registry.services.work.job import job_cancel
from registry.services.work.run import run_submit
from registry.states import FailureClass, JobKind, JobState
from registry.storage import blob_store
from registry.tables import Build, Job, MLModel, RemoteRun, Target, User
from tests.factories import store, tiny_onnx
from tests.registry.work.runs import npz
from tests.workers.device.test_reproduce import published
from workers.device import input_run
from workers.engine import samples
from workers.fleet.probe import ThisMachine
from workers.jobs import run as jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

X = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.fixture
def here(alice: User) -> ThisMachine:
    """This machine, for which ``alice/net`` has two builds; the second answers wrongly."""
    machine = published(alice, {"all": tiny_onnx(), "half": tiny_onnx(scale=0.51)})
    Job.objects.filter(state=JobState.QUEUED).update(state=JobState.CANCELLED)
    return machine


def submit(
    user: User, machine: ThisMachine, data: bytes | None = None, **options: Any
) -> RemoteRun:
    mlmodel = MLModel.objects.select_related("namespace").get(name="net")
    revision = revision_get(mlmodel)
    revision.mlmodel = mlmodel
    return run_submit(
        actor=user,
        revision=revision,
        target=Target.objects.get(slug=machine.spec.slug),
        inputs=store(npz(x=X) if data is None else data, user).sha256,
        **options,
    )


def done(user: User, run: RemoteRun, machine: ThisMachine) -> RemoteRun:
    """The run after this machine's worker has done all queued jobs."""
    jobs.drain([JobKind.RUN], here=machine)
    return run_get(user, str(run.job.uuid))


def outputs_of(run: RemoteRun) -> dict[str, Any]:
    assert run.outputs is not None
    with blob_store().open(run.outputs.sha256) as stream:
        return dict(np.load(io.BytesIO(stream.read()), allow_pickle=False))


def test_a_run_gives_outputs_times_and_deviation(bob: User, here: ThisMachine) -> None:
    baseline = Build.objects.get(is_baseline=True)
    run = done(bob, submit(bob, here, build=str(baseline.uuid)), here)
    assert run.job.state == JobState.SUCCEEDED, run.job.failure_detail
    expected = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)
    np.testing.assert_allclose(outputs_of(run)["y"], expected, rtol=1e-5)
    report = run.report
    assert report["outputs"] == [{"name": "y", "dtype": "float32", "shape": [2, 3]}]
    assert len(report["samples_ns"]) >= 5
    assert report["deviation"]["relative_l2"] < 1e-5
    assert (report["not_compared"], report["warmup"]) == ("", 2)
    assert report["peak_rss_bytes"] > 0
    assert "runs" in run.job.result["summary"]


def test_the_best_build_runs_and_its_deviation_is_reported(bob: User, here: ThisMachine) -> None:
    run = done(bob, submit(bob, here), here)
    assert run.build == Build.objects.get(is_baseline=False)
    assert run.report["deviation"]["relative_l2"] == pytest.approx(0.02, rel=0.1)


def test_the_published_network_runs_if_no_build_is_accepted(bob: User, here: ThisMachine) -> None:
    # Without labels, an accuracy cannot be asked for.
    with pytest.raises(Invalid, match="accuracy of this model is not measured"):
        submit(bob, here, min_accuracy=0.99999)
    Build.objects.update(accuracy=0.5)
    run = done(bob, submit(bob, here, min_accuracy=0.99999), here)
    assert run.build is None
    assert run.job.state == JobState.SUCCEEDED, run.job.failure_detail
    assert "the published model in onnxruntime" in run.job.result["summary"]
    assert run.report["deviation"]["relative_l2"] < 1e-5


def test_bytes_that_differ_from_their_headers_fail_on_the_device(
    bob: User, here: ThisMachine
) -> None:
    # The hub reads the first kilobytes of the array, which is damaged at its end.
    x = np.arange(40_000, dtype=np.float32).reshape(-1, 4)
    data = bytearray(npz(x=x))
    at = bytes(data).index(x[-1].tobytes())
    data[at : at + 4] = b"\xff\xff\xff\xff"
    run = done(bob, submit(bob, here, bytes(data)), here)
    assert (run.job.state, run.job.failure_code) == (JobState.FAILED, "invalid_inputs")
    assert run.job.failure_class == FailureClass.INVALID
    assert "CRC" in run.job.failure_detail
    assert run.outputs is None


def test_a_run_that_takes_too_long_is_ended_and_says_so(
    bob: User, here: ThisMachine, settings: Any
) -> None:
    settings.RUN_S = 0.5
    run = done(bob, submit(bob, here), here)
    assert (run.job.state, run.job.failure_code) == (JobState.FAILED, "job_timeout")
    assert "0.5 s that this hub allows" in run.job.failure_detail


def test_outputs_come_back_without_a_reference(
    bob: User, here: ThisMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("it does not open")

    monkeypatch.setattr(input_run, "open_reference", fail)
    run = done(bob, submit(bob, here), here)
    assert run.job.state == JobState.SUCCEEDED, run.job.failure_detail
    assert run.outputs is not None
    assert (run.report["deviation"], run.report["not_compared"]) == (None, "it does not open")


def test_a_run_whose_runtime_is_missing_fails_with_the_remedy(bob: User, here: ThisMachine) -> None:
    build = Build.objects.get(is_baseline=False)
    build.candidate = {**build.candidate, "backend": "tensorrt"}
    build.save()
    run = done(bob, submit(bob, here, build=str(build.uuid)), here)
    assert (run.job.state, run.job.failure_code) == (JobState.FAILED, "no_backend")
    assert "tensorrt" in run.job.failure_detail


def test_a_cancelled_run_stores_nothing(
    bob: User, here: ThisMachine, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.JOB_LEASE_S = 2
    run = submit(bob, here)
    arrange, waited = Signature.arrange, threading.Event()

    def cancelled_meanwhile(signature: Signature, outputs: Any) -> Any:
        job_cancel(actor=bob, job=run.job)
        # The next heartbeat reports the cancellation.
        monkeypatch.setattr(Signature, "arrange", arrange)
        waited.wait(1.5)
        return arrange(signature, outputs)

    monkeypatch.setattr(Signature, "arrange", cancelled_meanwhile)
    run = done(bob, run, here)
    assert (run.job.state, run.outputs) == (JobState.CANCELLED, None)


def test_archives_are_read_by_the_function_that_children_call(tmp_path: Any) -> None:
    (tmp_path / "x.npz").write_bytes(npz(x=X))
    np.testing.assert_array_equal(samples.read_archive(path=str(tmp_path / "x.npz"))["x"], X)
    (tmp_path / "bad.npz").write_bytes(npz(x=np.array([{}])))
    with pytest.raises(ValueError, match="without pickles"):
        samples.read_archive(path=str(tmp_path / "bad.npz"))
