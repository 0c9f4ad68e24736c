"""The hub over HTTP fulfils the contract of the port."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from hpcfair.tickets import JobTicket
from registry.selectors.storage.blob import blob_get, blob_open
from registry.selectors.work.job import job_get
from registry.services.work.devicecode import device_code_issue
from registry.services.work.enrolment import device_enrol, device_hello
from registry.services.work.job import job_cancel, job_submit
from registry.states import JobKind
from registry.tables import Device, Job, Trial, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.registry import shopfloor
from workers.agent.connection import HubConnection
from workers.agent.devicekey import DeviceKey
from workers.agent.enrolment import Enrolment
from workers.agent.files import FileStore
from workers.agent.heartbeat import Heartbeat, HeldJob
from workers.agent.httphub import HttpHub
from workers.agent.journal import Journal
from workers.agent.outbox import Outbox
from workers.agent.stop import Stop
from workers.device.ports import Hub
from workers.fleet.probe import this_machine
from workers.testing.hub_contract import ConnectedHubContract

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def enrol(hub: str, state: Path) -> Enrolment:
    """A device of this machine that has passed its health check."""
    device, token = device_enrol(
        code=device_code_issue(actor=None, target=None),
        name="bench-1",
        facts=this_machine().spec.facts,
        public_key=DeviceKey.in_folder(state).public_pem,
    )
    device_hello(device=device, facts=device.facts, tools={}, agent_version="1")
    Device.objects.update(checked_at=timezone.now())
    enrolment = Enrolment(hub, "bench-1", token, heartbeat_s=0.2, poll_s=1.0)
    enrolment.write(state)
    return enrolment


class TestHttpHub(ConnectedHubContract):
    """The contract of all hubs with a connection."""

    patience_s: ClassVar[float] = 60.0

    @pytest.fixture
    def hub(self, alice: User, live_server: LiveServer, tmp_path: Path) -> Iterator[HttpHub]:
        state = tmp_path / "state"
        enrolment = enrol(live_server.url, state)
        files = {"README.md": readme(), "net/model.onnx": tiny_onnx()}
        mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
        revision = mlmodel.refs.get(name="main").revision
        shopfloor.make_graph(revision)
        target = Device.objects.get().target
        job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
        with (
            Stop(drain_s=60) as stop,
            Journal(state) as journal,
            Heartbeat(state) as heartbeat,
            HubConnection.of(enrolment) as connection,
        ):
            claim = {"kinds": ["tune"], "available_s": None, "cached": []}
            offer = connection.post("claim", claim)
            journal.begin(offer["job"])
            ticket = JobTicket.from_json(offer["job"])
            held = HeldJob(ticket.job_uuid, ticket.fence, ticket.lease_s)
            heartbeat.hold(held)
            outbox = Outbox(connection, journal, stop, held, heartbeat.check)
            store = FileStore(state / "cache", 10**9)
            yield HttpHub(ticket, outbox, journal, store)
            heartbeat.release()

    def notes(self, hub: Hub) -> list[str]:
        return list(self._job(hub).events.order_by("pk").values_list("message", flat=True))

    def trials(self, hub: Hub) -> list[str]:
        rows = Trial.objects.filter(job=self._job(hub)).order_by("number")
        return list(rows.values_list("config_sha256", flat=True))

    def stored(self, hub: Hub, digest: str) -> bytes:  # noqa: ARG002
        with blob_open(blob_get(None, digest)) as stream:
            return stream.read()

    def lose(self, hub: Hub) -> None:
        Job.objects.filter(uuid=hub.ticket.job_uuid).update(fence=99)

    def cancel(self, hub: Hub) -> None:
        job_cancel(actor=None, job=job_get(None, hub.ticket.job_uuid))

    def reported(self, hub: Hub) -> dict[str, Any]:
        progress: dict[str, Any] = self._job(hub).progress
        return progress

    def _job(self, hub: Hub) -> Job:
        return Job.objects.get(uuid=hub.ticket.job_uuid)

    def test_a_large_file_is_sent_in_parts(self, hub: HttpHub, tmp_path: Path) -> None:
        path = tmp_path / "large"
        with path.open("wb") as file:
            file.truncate(20 * 2**20)
            file.write(b"head")
        digest = hub.keep(path)
        assert self.stored(hub, digest) == path.read_bytes()
