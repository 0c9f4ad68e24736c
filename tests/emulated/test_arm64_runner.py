"""An ARM64 device that only runs builds: a worker on this machine builds for it and does its
jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.emulated.enter import interpreter
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState, ToleranceClass, TrialOutcome
from registry.tables import Build, Device, MLModel, User
from tests.programs import needs
from tests.workers.agent.devices import publish
from workers.fleet import runner
from workers.jobs.device import register
from workers.jobs.run import drain

pytestmark = [
    *(needs("arm64"), needs("tvm"), needs("lld"), needs("emulation")),
    *(pytest.mark.django_db(transaction=True), pytest.mark.slow),
]


def test_builds_for_it_are_made_here_and_published(
    alice: User, settings: Any, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULE_S, settings.PASSES_S = 0, 0
    there = interpreter("arm64", tmp_path)
    described = {"command": there.command, "path": list(map(str, there.path))}
    (tmp_path / "runner.json").write_text(json.dumps(described))
    data_dir.mkdir()
    publish(alice)
    drain([JobKind.INSPECT], here=None)
    monkeypatch.setenv(runner.VARIABLE, str(tmp_path / "runner.json"))

    here = register()
    device = Device.objects.select_related("target").get()
    assert device.target.slug == here.spec.slug == "arm64-neoverse-n1-emulated"
    assert device.tools["onnxruntime"]["onnxruntime"] == "1.24.1"
    job = job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=MLModel.objects.get().refs.get(name="main").revision,
        target=device.target,
        parameters={"backends": ["tvm"], "budget_s": 60, "trials": 2},
    )
    drain([JobKind.TUNE], here=here)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    # What is published while the search goes on is withdrawn at its end.
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    assert baseline.target == device.target
    # Built there, with the version that is installed there.
    assert baseline.provenance["toolchain"]["onnxruntime"] == "1.24.1"
    assert baseline.record.document["target"]["facts"]["is_emulated"] is True
    # TVM's trial was built on this machine, and checked and timed there. Whether a build of it is
    # published depends on its speed.
    tvm = job.trials.get(candidate__backend="tvm")
    assert tvm.outcome in {TrialOutcome.MEASURED, TrialOutcome.PRUNED}, tvm.failure_detail
    assert tvm.tolerance == ToleranceClass.EXACT
    assert tvm.measurement["blocks"]
    assert tvm.ratio > 0
