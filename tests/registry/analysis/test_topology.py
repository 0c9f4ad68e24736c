"""Topologies: stored with the graph, checked, kept from garbage collection, made for old graphs."""

import gzip
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry.errors import Invalid, NotFound
from registry.selectors.analysis.topology import (
    drawing_job,
    network_get,
    topology_bytes,
    topology_document,
    topology_get,
    topology_of,
)
from registry.selectors.storage.blob import blobs_unreferenced
from registry.services.results.graph import graph_store, inspections_renew
from registry.services.storage.blob import blob_store_bytes
from registry.services.storage.gc import gc
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Blob, Topology
from registry.validation.topology import MAX_JSON, check_topology
from tests.factories import tiny_onnx
from tests.registry import shopfloor
from tests.registry.drawings import EXAMPLE, document_of, draw, topology_problems


def packed(document: dict[str, Any]) -> bytes:
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def test_the_example_and_a_real_topology_have_the_schema() -> None:
    assert topology_problems(EXAMPLE) == {}
    assert topology_problems(document_of(tiny_onnx())) == {}
    assert topology_problems(EXAMPLE | {"omitted": ["everything"]})


def test_measures_come_from_the_document() -> None:
    drawing = check_topology(packed(EXAMPLE), "a" * 64, "model.onnx")
    assert (drawing.nodes, drawing.edges, drawing.groups) == (2, 1, 1)
    assert drawing.size_bytes == len(json.dumps(EXAMPLE))


def _change(name: str, column: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document[name][column] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _change("nodes", "group", [0, 1]),
        _change("nodes", "operator", [0, -1]),
        _change("nodes", "name", ["only one"]),
        _change("nodes", "inputs", [[0], [99]]),
        _change("edges", "source", ["0"]),
        _change("edges", "target", [True]),
        _change("groups", "parent", [0]),
        lambda document: document.update(schema="hpcfair.topology/2"),
        lambda document: document.update(path="other.onnx"),
        lambda document: document.update(attributes=[[7, "a", "int", "1"]]),
        lambda document: document.pop("tensors"),
    ],
)
def test_inconsistent_documents_are_refused(change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(json.dumps(EXAMPLE))
    change(document)
    with pytest.raises(Invalid):
        check_topology(packed(document), "a" * 64, "model.onnx")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        gzip.compress(b"[" * 100_000),
        gzip.compress(b"{}")[:-4],
        packed(EXAMPLE) + b"more",
        gzip.compress(b" " * (MAX_JSON + 1)),
    ],
    ids=["empty", "foreign", "deep", "cut off", "more", "bomb"],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Invalid):
        check_topology(data, "a" * 64, "model.onnx")


@pytest.mark.django_db
def test_a_graph_gets_its_topology_and_a_new_inspection_replaces_it() -> None:
    revision = shopfloor.make_revision("alice/net")
    job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    ticket = shopfloor.claim_inspect()
    data = packed(EXAMPLE)
    blob = blob_store_bytes(actor=None, data=data)
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    common: dict[str, Any] = {**handle, "facts": shopfloor.make_facts(), "is_primary": True}
    graph = graph_store(**common, drawing=check_topology(data, blob.sha256, "model.onnx"))
    assert topology_document(topology_get(network_get(revision, None))) == EXAMPLE
    assert topology_get(network_get(revision, "model.onnx")).nodes == 2
    graph_store(**common, drawing=None)
    assert Topology.objects.get().graph == graph
    undrawable = network_get(revision, None)
    assert topology_of(undrawable) is None
    with pytest.raises(NotFound, match="could not be drawn"):
        topology_get(undrawable)
    with pytest.raises(NotFound, match="no inspected network 'else"):
        network_get(revision, "else.onnx")


@pytest.mark.django_db
def test_garbage_collection_spares_topologies_until_their_graph_is_deleted() -> None:
    graph = shopfloor.make_graph(shopfloor.make_revision("alice/net"))
    blob = draw(graph, EXAMPLE).blob
    assert blob is not None
    long_ago = timezone.now() - timedelta(days=365)
    Blob.objects.update(used_at=long_ago)
    assert blob not in blobs_unreferenced()
    for _ in range(2):
        gc(grace=timedelta(0), most=100)
    assert json.loads(gzip.decompress(topology_bytes(Topology.objects.get()))) == EXAMPLE
    graph.delete()
    assert blob in blobs_unreferenced()


@pytest.mark.django_db
def test_networks_that_were_never_drawn_say_so_and_name_their_next_inspection() -> None:
    floor = shopfloor.floor()
    with pytest.raises(NotFound, match="before networks were drawn"):
        topology_get(network_get(floor.revision, None))
    (job,) = inspections_renew()
    assert drawing_job(floor.revision) == job
