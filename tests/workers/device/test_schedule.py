"""Jobs that search schedules, on the real thing: TVM in children, rows in the hub."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.selectors.results.schedule import schedules_best
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState
from registry.tables import Graph, Job, MLModel, Revision, ScheduleTrial, Target, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from tests.workers.hubs import hub_of
from workers.device.schedule import schedule_toolchain, write_schedules
from workers.jobs import run
from workers.jobs.device import register
from workers.testing import networks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

#: Trials end it, not time: on a busy machine, children may take a minute to start.
SEARCH = {"trials": 4}


@pytest.fixture(autouse=True)
def switched_on(settings: Any) -> None:
    settings.SCHEDULE_S = 600


def publish(alice: User, name: str, model: bytes) -> Revision:
    content: dict[str, bytes | str] = {"README.md": readme(), "model.onnx": model}
    mlmodel = make_mlmodel(f"alice/{name}", actor=alice, files=content)
    run.drain([JobKind.INSPECT], here=None)
    return MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision


def search(revision: Revision, **parameters: Any) -> Job:
    target = Target.objects.get()
    job_submit(
        actor=None,
        kind=JobKind.SCHEDULE,
        revision=revision,
        target=target,
        parameters=SEARCH | parameters,
    )
    run.drain([JobKind.SCHEDULE], here=register())
    return Job.objects.filter(kind=JobKind.SCHEDULE).latest("id")


@needs("cc")
def test_schedules_are_found_kept_and_handed_to_the_next_search(
    alice: User, tmp_path: Path
) -> None:
    here = register()
    revision = publish(alice, "net", tiny_onnx())
    Job.objects.filter(kind=JobKind.TUNE).delete()
    job = search(revision)
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.result["improved"] > 0
    assert job.result["tools"]["apache-tvm"] == job_toolchain(job)
    assert 0 < ScheduleTrial.objects.filter(job=job).count() <= 4
    # A search of configurations is planned that may use them.
    assert Job.objects.filter(kind=JobKind.TUNE, state=JobState.QUEUED).count() == 1
    toolchain = {"tvm": {"apache-tvm": job_toolchain(job)}}
    graph = Graph.objects.get(revision=revision)
    ticket = job_claim(device_name=here.device, kinds=[JobKind.TUNE], target=here.spec.slug)
    assert ticket is not None
    hub = hub_of(ticket)
    path = write_schedules(hub, toolchain, graph.graph_hash, tmp_path)
    assert path is not None
    records = [json.loads(line) for line in path.read_text().splitlines()]
    kept = schedules_best(here.spec.slug, schedule_toolchain(toolchain["tvm"]), graph.graph_hash)
    assert records == kept != []
    assert write_schedules(hub, {"onnxruntime": {}}, graph.graph_hash, tmp_path) is None


def job_toolchain(job: Job) -> str:
    trial = ScheduleTrial.objects.filter(job=job).select_related("task").first()
    assert trial is not None
    return trial.task.toolchain.removeprefix("apache-tvm ")


@needs("cc")
def test_a_network_the_compiler_cannot_take_has_no_schedules_and_says_why(alice: User) -> None:
    register()
    model = networks.with_operator("Bernoulli").SerializeToString()
    job = search(publish(alice, "odd", model))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert "Bernoulli" in job.result["summary"]
    assert "apache-tvm" in job.result["tools"]
    assert not ScheduleTrial.objects.exists()
