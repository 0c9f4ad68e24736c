"""What inspection found out about networks."""

from dataclasses import replace

import pytest

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.selectors.results.graph import graph_facts, graph_of
from registry.services.results.graph import graph_store
from registry.services.work.attempt import job_claim
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Graph, OutboxEntry, Revision
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
