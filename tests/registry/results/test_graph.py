"""What inspection found out about networks."""

from dataclasses import replace

import pytest

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.selectors.results.graph import graph_facts, graph_of
from registry.services.results.graph import MOST_WAITING, graph_store, inspections_renew
from registry.services.work.attempt import job_claim
from registry.services.work.followup import job_complete
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState, RefKind
from registry.tables import Graph, Job, OutboxEntry, Ref, Revision, Topology
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


@pytest.fixture
def revision() -> Revision:
    return shopfloor.make_revision("alice/squeezenet")


@pytest.fixture
def ticket(revision: Revision) -> JobTicket:
    job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    ticket = job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None)
    assert ticket is not None
    return ticket


def store(ticket: JobTicket, path: str = "model.onnx", *, primary: bool = True) -> Graph:
    facts = shopfloor.make_facts(path)
    return graph_store(
        job_uuid=ticket.job_uuid, fence=ticket.fence, facts=facts, is_primary=primary
    )


def test_facts_come_back_as_they_were_stored(revision: Revision, ticket: JobTicket) -> None:
    assert graph_of(revision) is None
    graph = store(ticket)
    assert graph_of(revision) == graph
    graph.refresh_from_db()
    assert graph_facts(graph) == shopfloor.make_facts()


def test_search_hears_of_a_new_graph(revision: Revision, ticket: JobTicket) -> None:
    OutboxEntry.objects.all().delete()
    store(ticket)
    assert OutboxEntry.objects.get().mlmodel_uuid == revision.mlmodel.uuid


def test_inspecting_again_replaces_what_was_known(revision: Revision, ticket: JobTicket) -> None:
    store(ticket)
    facts = replace(shopfloor.make_facts(), parameters=11)
    graph_store(job_uuid=ticket.job_uuid, fence=ticket.fence, facts=facts, is_primary=True)
    assert Graph.objects.get(revision=revision).parameters == 11


def test_one_graph_is_the_primary_one(revision: Revision, ticket: JobTicket) -> None:
    store(ticket, "a.onnx")
    store(ticket, "b.onnx")
    store(ticket, "c.onnx", primary=False)
    graph = graph_of(revision)
    assert graph is not None
    assert graph.path == "b.onnx"
    assert Graph.objects.filter(is_primary=True).count() == 1


def test_facts_of_a_lost_lease_are_not_stored(ticket: JobTicket) -> None:
    with pytest.raises(Conflict):
        graph_store(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence + 1,
            facts=shopfloor.make_facts(),
            is_primary=True,
        )
    assert not Graph.objects.exists()


def make_outdated(name: str = "alice/net") -> Graph:
    """The graph of a model that the hub inspected before it looked at convolutions."""
    graph = shopfloor.make_graph(shopfloor.make_revision(name))
    Topology.objects.create(graph=graph)
    del graph.facts["convolutions"]
    graph.save()
    return graph


def inspected_again(job: Job) -> None:
    """What a worker does with the only queued inspection."""
    ticket = shopfloor.claim_inspect()
    assert ticket.job_uuid == str(job.uuid)
    store(ticket)
    job_complete(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "plain-cnn"})


def test_networks_that_lack_later_facts_are_inspected_again_once_and_without_searches() -> None:
    shopfloor.make_machine()
    graph = make_outdated()
    assert graph_facts(graph).convolutions == []
    (job,) = inspections_renew()
    assert inspections_renew() == [], "it is queued already"
    inspected_again(job)
    graph.refresh_from_db()
    assert "convolutions" in graph.facts
    assert inspections_renew() == []
    assert list(Job.objects.exclude(pk=job.pk)) == []


def test_networks_that_were_never_drawn_are_inspected_again_once() -> None:
    shopfloor.make_graph(shopfloor.make_revision("alice/net"))
    (job,) = inspections_renew()
    inspected_again(job)
    # It could not be drawn, which is stored: it is not tried for ever.
    assert inspections_renew() == []


def test_complete_facts_and_versions_without_a_name_are_left_alone() -> None:
    graph = make_outdated()
    Ref.objects.filter(revision=graph.revision).delete()
    assert inspections_renew() == []
    Topology.objects.create(graph=shopfloor.make_graph(shopfloor.make_revision("alice/new")))
    assert inspections_renew() == []


def test_versions_of_tags_are_inspected_again() -> None:
    graph = make_outdated()
    Ref.objects.filter(revision=graph.revision).update(kind=RefKind.TAG, name="v1")
    assert [job.revision for job in inspections_renew()] == [graph.revision]


def test_models_whose_renewed_inspection_failed_are_not_tried_again() -> None:
    make_outdated()
    inspections_renew()
    Job.objects.update(state=JobState.FAILED)
    assert inspections_renew() == []


def test_few_renewed_inspections_wait_at_a_time() -> None:
    for number in range(MOST_WAITING + 2):
        make_outdated(f"alice/net{number}")
    assert len(inspections_renew()) == MOST_WAITING
    assert inspections_renew() == []
