"""Builds run again on the test tensors, by the real runtime in real child processes."""

from typing import Any

import pytest

from registry import schemas
from registry.selectors.repository.revision import revision_get
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.results.reproduction import plan_after_search
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState
from registry.tables import Job, Reproduction, Target, TestTensor, User
from tests.factories import make_mlmodel, readme, store, tiny_onnx
from tests.registry import shopfloor
from workers.device import toolchain
from workers.fleet.probe import ThisMachine
from workers.jobs import run
from workers.jobs.device import register
from workers.jobs.hub import RegistryHub

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

#: Threads, by which builds differ, to the bytes of the artefact.
GOOD = {"all": tiny_onnx(), "half": tiny_onnx()}
BAD = {"all": tiny_onnx(), "half": tiny_onnx(scale=0.51), "one": b"no network at all"}
SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
}


def published(alice: User, artefacts: dict[str, bytes]) -> ThisMachine:
    """A network without tests and its builds on this machine, as an older hub's search left them;
    the first is the baseline. A run of them is planned."""
    here = register()
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    revision = revision_get(make_mlmodel("alice/net", actor=alice, files=files))
    graph = shopfloor.make_graph(revision)
    graph.signature = SIGNATURE
    graph.save()
    target = Target.objects.get(slug=here.spec.slug)
    job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    ticket = job_claim(device_name=here.device, kinds=[JobKind.TUNE], target=target.slug)
    assert ticket is not None
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    builds = []
    for threads, data in artefacts.items():
        made = {"model.onnx": store(data).sha256}
        document = shopfloor.document(revision, threads, job=ticket.job_uuid)
        document["identity"]["artifact_sha256"] = schemas.artifact_sha256(made)
        document["target"]["slug"] = target.slug
        record = record_add(**held, document=document)
        columns: dict[str, Any] = {"files": made, "entry_point": "model.onnx"}
        if threads == "all":
            columns |= {"is_baseline": True, "ratio": 1.0, "verdict": "same"}
        builds.append(shopfloor.build(record.pk, threads, **columns))
    builds_publish(**held, builds=builds)
    job_succeed(**held, result={"summary": "none"})
    plan_after_search(job_uuid=ticket.job_uuid)
    return here


def newest() -> Job:
    return Job.objects.filter(kind=JobKind.REPRODUCE).latest("id")


def outcomes() -> dict[str, str]:
    """Threads to what came of the build when it was last run."""
    rows = Reproduction.objects.select_related("build").order_by("pk")
    return {row.build.runtime_options["threads"]: row.outcome for row in rows}


def test_builds_that_still_do_what_they_did_are_told_from_those_that_do_not(alice: User) -> None:
    here = published(alice, BAD)
    assert run.drain([JobKind.REPRODUCE], here=here) == 1
    job = newest()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    # There were none yet, so the job made some.
    assert TestTensor.objects.filter(is_made=True).count() == 6
    assert outcomes() == {"all": "reproduced", "half": "differs", "one": "failed"}
    assert job.result["summary"] == "of 3 builds: 1 differs, 1 failed, 1 reproduced"
    good, differing, broken = Reproduction.objects.order_by("pk")
    assert good.deviation["max_relative"] < 1e-4
    assert good.tools.keys() >= {"python", "hpcfair", "onnxruntime"}
    assert differing.deviation["relative_l2"] == pytest.approx(0.02, rel=0.1)
    assert "exact allows" in differing.detail
    assert broken.detail
    assert not broken.deviation


def test_builds_are_run_again_when_a_tool_of_the_device_changed(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = published(alice, {"all": tiny_onnx()})
    run.drain([JobKind.REPRODUCE], here=here)
    first = newest()
    register()
    assert newest() == first
    monkeypatch.setattr(toolchain.platform, "python_version", lambda: "3.99.0")
    register()
    assert newest() != first
    run.drain([JobKind.REPRODUCE], here=here)
    assert newest().state == JobState.SUCCEEDED
    assert Reproduction.objects.filter(tools__python="3.99.0").count() == 1
    register()
    assert newest().state == JobState.SUCCEEDED


def test_a_run_gives_way_to_a_search_and_goes_on_where_it_stopped(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = published(alice, GOOD)
    asked: list[str] = []
    read = RegistryHub.read

    def one_waits(hub: RegistryHub, name: str, **parameters: Any) -> Any:
        if name != "is_search_due":
            return read(hub, name, **parameters)
        asked.append(name)
        # After the first attempt's first build.
        return len(asked) == 2

    monkeypatch.setattr(RegistryHub, "read", one_waits)
    assert run.drain([JobKind.REPRODUCE], here=here) == 2
    job = newest()
    assert (job.state, job.attempt, job.yields) == (JobState.SUCCEEDED, 1, 1)
    assert outcomes() == {"all": "reproduced", "half": "reproduced"}
    assert Reproduction.objects.count() == 2
