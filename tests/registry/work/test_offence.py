"""Offences of devices: requests that a correct device never sends are refused and logged, their
device is put into quarantine, and nothing of them is ranked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from registry.errors import Forbidden, RegistryError
from registry.services.work.agent import (
    agent_claim,
    agent_end,
    agent_job,
    agent_read,
    agent_write,
)
from registry.services.work.enrolment import device_hello
from registry.states import DeviceState, JobKind, JobState
from registry.tables import AuditEntry, BestBuild, Build, Graph, Job, JobReport, Trial
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine, record_of
from tests.registry.shopfloor import Floor
from tests.registry.work.fleet import FACTS

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Scene:
    """A device that holds a job, and another device without a job."""

    floor: Floor
    agent: Machine
    ticket: JobTicket
    idle: Machine

    def write(self, name: str, **columns: Any) -> None:
        """A write of the device that holds the job."""
        held: dict[str, Any] = {"job_uuid": self.ticket.job_uuid, "fence": self.ticket.fence}
        agent_write(device=self.agent.device, **held, name=name, columns=columns, number=1)

    def trial(self, **columns: Any) -> None:
        self.write("trial_add", trial=shopfloor.trial(**columns))

    def record(self, part: str, created_at: str = "", **columns: Any) -> None:
        """A record with false values in ``part``."""
        document = record_of(self.floor.revision, self.ticket, created_at)
        del document["record_id"]
        document[part] |= columns
        self.write("record_add", document=document)

    def build(self, **changes: Any) -> None:
        """A build that differs from its record, of a file that was sent."""
        document = record_of(self.floor.revision, self.ticket)
        record = self.agent.write(self.ticket, "record_add", 7, document=document)
        figures = {
            "ratio": 1.0,
            "verdict": "same",
            "is_baseline": True,
            "tolerance": document["config"]["tolerance"],
            "p50_ns": round(document["statistics"]["candidate"]["p50_ns"]),
        }
        build = shopfloor.build(record["record_id"], **figures | changes)
        job = Job.objects.get(uuid=self.ticket.job_uuid)
        job.blobs.create(blob=shopfloor.make_blob(b"artefact with all threads"))
        self.write("builds_publish", builds=[build])

    def end(self, sender: Machine, **changes: Any) -> None:
        """A report of the job's end by ``sender``, signed with its key."""
        report = sender.succeeded(self.ticket) | changes
        agent_end(device=sender.device, job_uuid=self.ticket.job_uuid, **report)

    def hello(self, **facts: Any) -> None:
        device_hello(device=self.agent.device, facts=FACTS | facts, tools={}, agent_version="1")


@pytest.fixture
def scene() -> Scene:
    floor = shopfloor.floor()
    agent, idle = machine(floor.target), machine(floor.target, "idle")
    floor.tune()
    return Scene(floor, agent, agent.claim(), idle)


OWN: dict[str, Callable[[Scene], None]] = {
    "facts of no machine": lambda scene: scene.hello(cores=-3),
    "facts of a machine without the features": lambda scene: scene.hello(features=["sse4_2"]),
    "facts of another architecture": lambda scene: scene.hello(
        architecture="arm64", features=["asimd"]
    ),
    "a trial longer than the attempt": lambda scene: scene.trial(duration_s=86_400.0),
    "a trial whose ratio is outside of its interval": lambda scene: scene.trial(
        ratio=0.001, ratio_low=0.8, ratio_high=0.9
    ),
    "a trial faster than any machine": lambda scene: scene.trial(p50_ns=1),
    "a trial of another candidate": lambda scene: scene.trial(config_sha256="0" * 64),
    "a record of 1970": lambda scene: scene.record("provenance", "1970-01-01T00:00:00Z"),
    "a record of another network": lambda scene: scene.record("identity", graph_hash="f" * 64),
    "a record of another device": lambda scene: scene.record("target", device="idle"),
    "a build faster than its record": lambda scene: scene.build(p50_ns=1),
    "a build of another class": lambda scene: scene.build(tolerance="int8"),
    "a file outside of its folder": lambda scene: scene.build(
        files={"../escape.ort": shopfloor.artefact()["model.ort"]}, entry_point="../escape.ort"
    ),
    "two files of one path on some systems": lambda scene: scene.build(
        files=dict.fromkeys(("model.ort", "MODEL.ORT"), shopfloor.artefact()["model.ort"])
    ),
    "an end with another result than was signed": lambda scene: scene.end(
        scene.agent, result={"summary": "another"}
    ),
    "an end signed by another's key": lambda scene: scene.end(
        scene.agent, signature=scene.idle.succeeded(scene.ticket)["signature"]
    ),
}


@pytest.mark.parametrize("send", OWN.values(), ids=OWN)
def test_a_device_that_sends_false_results_is_quarantined(
    scene: Scene, send: Callable[[Scene], None]
) -> None:
    Graph.objects.update(macs=10**9)
    with pytest.raises(RegistryError) as refused:
        send(scene)
    entry = AuditEntry.objects.get(action="device.offence")
    assert (entry.subject, entry.detail["code"]) == ("agent-1", refused.value.code)
    device = scene.agent.device
    device.refresh_from_db()
    assert (device.state, device.is_trusted) == (DeviceState.QUARANTINED, False)
    assert AuditEntry.objects.filter(action="device.quarantine").count() == 1
    # Another device does the job.
    job = Job.objects.get()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert not Trial.objects.exists()
    assert not Build.objects.exists()
    assert not BestBuild.objects.exists()
    assert not JobReport.objects.exists()
    # Its requests are refused, and it gets no jobs.
    with pytest.raises(Forbidden) as forbidden:
        scene.trial()
    assert forbidden.value.code == "device_quarantined"
    offer = agent_claim(device=device, kinds=[JobKind.TUNE], available_s=None, cached=())
    assert offer.ticket is None
    assert scene.idle.claim().job_uuid == scene.ticket.job_uuid


THEFT: dict[str, Callable[[Scene, dict[str, Any]], object]] = {
    "reads": lambda scene, held: agent_read(
        device=scene.idle.device, **held, name="trials_of_job", parameters={}
    ),
    "writes": lambda scene, held: agent_write(
        device=scene.idle.device, **held, name="note", columns={"message": "x"}, number=1
    ),
    "files": lambda scene, held: agent_job(device=scene.idle.device, job_uuid=held["job_uuid"]),
    "ends": lambda scene, _: scene.end(scene.idle),
    "ends by the holder's signature": lambda scene, held: agent_end(
        device=scene.idle.device,
        job_uuid=held["job_uuid"],
        **scene.agent.succeeded(scene.ticket),
    ),
}


@pytest.mark.parametrize("steal", THEFT.values(), ids=THEFT)
def test_a_device_that_names_the_job_of_another_is_quarantined(
    scene: Scene, steal: Callable[[Scene, dict[str, Any]], object]
) -> None:
    held = {"job_uuid": scene.ticket.job_uuid, "fence": scene.ticket.fence}
    with pytest.raises(RegistryError) as refused:
        steal(scene, held)
    assert refused.value.code == "job_not_found"
    assert AuditEntry.objects.get(action="device.offence").subject == "idle"
    scene.idle.device.refresh_from_db()
    assert scene.idle.device.state == DeviceState.QUARANTINED
    scene.agent.device.refresh_from_db()
    assert scene.agent.device.state == DeviceState.ACTIVE
    scene.end(scene.agent)
    assert Job.objects.get(uuid=scene.ticket.job_uuid).state == JobState.SUCCEEDED


def test_a_completion_that_is_replayed_counts_once(scene: Scene) -> None:
    for _ in range(2):
        scene.end(scene.agent)
    assert JobReport.objects.count() == 1
    assert not AuditEntry.objects.filter(action="device.offence").exists()


def test_the_completion_of_an_earlier_claim_is_refused(scene: Scene) -> None:
    old = scene.agent.succeeded(scene.ticket)
    released = {
        "fence": scene.ticket.fence,
        "outcome": "released",
        "signature": scene.agent.sign(scene.ticket, "released", {}),
    }
    agent_end(device=scene.agent.device, job_uuid=scene.ticket.job_uuid, **released)
    again = scene.agent.claim()
    report: dict[str, Any] = old | {"fence": again.fence}
    with pytest.raises(RegistryError) as refused:
        agent_end(device=scene.agent.device, job_uuid=again.job_uuid, **report)
    assert refused.value.code == "signature_invalid"
    scene.agent.device.refresh_from_db()
    assert scene.agent.device.state == DeviceState.QUARANTINED
    assert Job.objects.get().state == JobState.QUEUED
