"""An ARM64 device that only runs builds: a worker on this machine builds for it and does its
jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.emulated.enter import interpreter
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState
from registry.tables import Build, Device, MLModel, Record, User
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
        parameters={"backends": ["tvm"], "budget_s": 30, "trials": 1},
    )
    drain([JobKind.TUNE], here=here)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    baseline = Build.objects.get(is_baseline=True)
    assert baseline.target == device.target
    # Built there, with the version that is installed there.
    assert baseline.provenance["toolchain"]["onnxruntime"] == "1.24.1"
    (record,) = Record.objects.filter(backend="tvm")
    assert record.document["target"]["facts"]["is_emulated"] is True
    assert record.document["correctness"]
