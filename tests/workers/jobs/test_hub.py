"""The registry behind the port fulfils the contract of the port."""

from collections.abc import Iterator
from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from registry.selectors.storage.blob import blob_get, blob_open
from registry.selectors.work.improvement import IMPROVEMENT_PRIORITY
from registry.selectors.work.job import job_get
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, JobState
from registry.tables import Job, Trial, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.registry import shopfloor
from tests.workers.hubs import hub_of
from workers.device.background import progress_of
from workers.device.errors import HubError
from workers.device.ports import Hub
from workers.engine.errors import LeaseLost
from workers.engine.ports import PhaseTime
from workers.jobs.hub import RegistryHub
from workers.jobs.lease import Lease
from workers.testing.hub_contract import ConnectedHubContract

# The heartbeat has a connection of its own: what it reads must be committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def claim(alice: User, kind: JobKind = JobKind.TUNE, **options: Any) -> JobTicket:
    """A claimed job of a published network with bytes."""
    files = {"README.md": readme(), "net/model.onnx": tiny_onnx()}
    mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
    revision = mlmodel.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    target, device = shopfloor.make_machine()
    job_submit(actor=None, kind=kind, revision=revision, target=target, **options)
    ticket = job_claim(device_name=device.name, kinds=[kind], target=target.slug)
    assert ticket is not None
    return ticket


class TestRegistryHub(ConnectedHubContract):
    """The contract of all hubs with a connection."""

    @pytest.fixture
    def hub(self, alice: User, settings: Any) -> Iterator[RegistryHub]:
        settings.JOB_LEASE_S = 1
        ticket = claim(alice)
        with Lease(ticket) as lease:
            yield RegistryHub(ticket, lease)

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


def test_progress_has_the_time_of_its_phase(alice: User) -> None:
    ticket = claim(alice)
    hub = hub_of(ticket)
    hub.progress("search", 1, 10, "at work", PhaseTime(41.5, 120.0))
    progress = Job.objects.get(uuid=ticket.job_uuid).progress
    assert (progress["done"], progress["used_s"], progress["budget_s"]) == (1, 41.5, 120.0)


def test_a_background_job_gives_way_to_a_search(alice: User) -> None:
    ticket = claim(alice, JobKind.REPRODUCE, priority=BACKGROUND_PRIORITY)
    job = Job.objects.get(uuid=ticket.job_uuid)
    hub = hub_of(ticket)
    hub.give_way()
    job_submit(actor=None, kind=JobKind.TUNE, revision=job.revision, target=job.target)
    with pytest.raises(LeaseLost, match="yields to a search"):
        hub.give_way()
    job.refresh_from_db()
    assert (job.state, job.yields) == (JobState.QUEUED, 1)


def test_a_search_on_an_idle_device_gives_way_after_a_step(alice: User) -> None:
    ticket = claim(alice, priority=IMPROVEMENT_PRIORITY)
    job = Job.objects.get(uuid=ticket.job_uuid)
    progress = progress_of(hub_of(ticket))
    progress("search", 1, None, "a candidate")
    other = make_mlmodel("alice/other", actor=alice, files={"README.md": readme()})
    revision = other.refs.get(name="main").revision
    shopfloor.make_graph(revision)
    job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=job.target)
    with pytest.raises(LeaseLost):
        progress("search", 2, None, "a candidate")
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_a_refusal_of_the_registry_is_a_hub_error(alice: User) -> None:
    with pytest.raises(HubError) as refusal:
        hub_of(claim(alice)).write("trial_add", trial={})
    assert refusal.value.code == "invalid_request"
