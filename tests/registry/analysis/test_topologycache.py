"""Parsed topologies: parsed once, bounded, and changed by no reader."""

import gzip
import json
from collections.abc import Callable

import pytest
from django.test import Client

from registry.selectors.analysis.graphdiff import graph_difference
from registry.selectors.analysis.network import network_in
from registry.selectors.analysis.topology import topology_bytes, topology_parsed
from registry.selectors.analysis.topologycache import TopologyCache
from registry.tables import MLModel, User
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.drawings import EXAMPLE, draw


def reader(document: object, reads: list[str], name: str = "") -> Callable[[], bytes]:
    def read() -> bytes:
        reads.append(name)
        return gzip.compress(json.dumps(document).encode())

    return read


def test_a_document_is_parsed_once() -> None:
    cache, reads = TopologyCache(), list[str]()
    first = cache.get("a", reader(EXAMPLE, reads))
    assert cache.get("a", reader(EXAMPLE, reads)) is first
    assert len(reads) == 1
    assert first.document == EXAMPLE
    assert first.work is first.work


def test_documents_are_kept_within_the_bound_the_last_used_ones() -> None:
    reads: list[str] = []
    size = len(json.dumps(EXAMPLE))
    cache = TopologyCache(2 * size)
    for name in ("a", "b", "a", "c", "a", "b"):
        cache.get(name, reader(EXAMPLE, reads, name))
        assert cache.size_bytes <= 2 * size
    # "c" replaced "b", which had not been used for longer.
    assert reads == ["a", "b", "c", "b"]


def test_a_document_beyond_the_bound_displaces_no_other() -> None:
    reads: list[str] = []
    cache = TopologyCache(len(json.dumps(EXAMPLE)))
    cache.get("a", reader(EXAMPLE, reads, "a"))
    for _ in range(2):
        assert cache.get("big", reader([EXAMPLE, EXAMPLE], reads, "big")).document
    cache.get("a", reader(EXAMPLE, reads, "a"))
    assert reads == ["a", "big", "big"]


@pytest.mark.django_db
def test_pages_do_not_change_the_document_that_they_share(client: Client) -> None:
    floor = shopfloor.floor()
    topology = draw(floor.graph, EXAMPLE)
    profiles.measure(floor.device, {"float32": 1e12}, 1e10)
    build = profiles.publish(floor, profiles.planted())[0]
    parsed = topology_parsed(topology)
    for page in ("graph", "perf", f"perf/groups/1?build={build.uuid}"):
        assert client.get(f"/alice/squeezenet/{page}").status_code == 200
    graph_difference(parsed.document, parsed.document)
    network_in(parsed.document)
    assert topology_parsed(topology) is parsed
    assert parsed.document == json.loads(gzip.decompress(topology_bytes(topology)))


@pytest.mark.django_db
def test_access_is_checked_although_the_document_is_in_memory(client: Client) -> None:
    floor = shopfloor.floor()
    draw(floor.graph, EXAMPLE)
    client.force_login(User.objects.get(username="alice"))
    address = "/alice/squeezenet/graph"
    assert "data-topology" in client.get(address).content.decode()
    MLModel.objects.update(gate="manual")
    assert "data-topology" in client.get(address).content.decode()
    client.logout()
    assert "data-topology" not in client.get(address).content.decode()
    assert client.get("/api/v1/models/alice/squeezenet/topology").status_code == 401
    MLModel.objects.update(visibility="private")
    assert client.get(address).status_code == 404
