"""The page of a model's networks: the panel, its table without scripts, and what else is said."""

import gzip
import json
import re
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

from hub.pages.topology import ROWS, network_panel
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.services.results.graph import inspections_renew
from registry.states import Gate, JobState
from registry.tables import Graph, Job, MLModel, Topology, User
from tests.hub.pages.test_reading import status, text
from tests.registry import shopfloor
from tests.registry.drawings import EXAMPLE, document_of, draw
from tests.workers.inspection.networks import Net

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]
PAGE = "/lab/galaxy-cnn/graph"


@pytest.fixture
def graph(galaxy: MLModel) -> Graph:
    return shopfloor.make_graph(revision_get(galaxy))


def long_network(count: int) -> dict[str, Any]:
    net = Net()
    x = "x"
    for _ in range(count):
        x = net.op("Relu", x)
    return document_of(net.model([x]))


def request(query: str = "", user: User | None = None) -> HttpRequest:
    made = RequestFactory().get(f"/?{query}")
    made.user = user  # type: ignore[assignment]
    return made


def test_the_page_has_the_panel_and_all_nodes_in_a_table(client: Client, graph: Graph) -> None:
    draw(graph, EXAMPLE)
    page = text(client, PAGE)
    oid = graph.revision.oid
    address = f"/api/v1/models/lab/galaxy-cnn/topology?revision={oid}&amp;path=model.onnx"
    assert f'data-topology="{address}"' in page
    assert client.get(address.replace("&amp;", "&")).json() == EXAMPLE
    assert re.findall(r'data-node="(\d+)"', page) == ["0", "1"]
    assert "/head/MatMul" in page
    assert "float32[N, 2]" in page
    assert f'href="{PAGE}"' in page


def test_the_compact_topology_and_the_details_of_a_node_are_for_those_who_may_fetch(
    client: Client, graph: Graph, galaxy: MLModel, charlie: User
) -> None:
    draw(graph, EXAMPLE)
    address = f"{PAGE}/data?revision={graph.revision.oid}&path=model.onnx"
    assert f'data-compact="{address.replace("&", "&amp;")}"' in text(client, PAGE)
    plain = client.get(address)
    assert plain.json()["nodes"]["name"] == EXAMPLE["nodes"]["name"]
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(packed.content)) == plain.json()
    validator = {"If-None-Match": plain.headers["ETag"]}
    assert client.get(address, headers=validator).status_code == 304
    details = client.get(f"{address}&node=0").json()
    assert set(details) == {"attributes", "statistics"}
    for odd in ("9", "-1", "x", "9" * 20):
        assert client.get(f"{address}&node={odd}").status_code == 404
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate=Gate.MANUAL)
    for refused in (address, f"{address}&node=0"):
        assert client.get(refused).status_code in {302, 403}


def test_a_long_table_comes_in_parts(client: Client, graph: Graph) -> None:
    draw(graph, long_network(ROWS + 20))
    seen: list[str] = []
    for part in ("1", "2"):
        page = text(client, f"{PAGE}?part={part}")
        nodes = re.findall(r'data-node="(\d+)"', page)
        assert len(nodes) <= ROWS
        seen += nodes
    assert sorted(map(int, seen)) == list(range(ROWS + 20))
    assert "part=2" in text(client, PAGE)
    for odd in ("0", "-1", "x", "99999999999999999999", "77"):
        assert status(client, f"{PAGE}?part={odd}") == 200


def test_an_overlay_is_in_the_panel_and_in_the_table(galaxy: MLModel, graph: Graph) -> None:
    draw(graph, EXAMPLE)
    group = {"id": "7", "label": "MatMul", "nodes": [0], "value": 60.0, "text": "60 %"}
    overlay = {
        "metric": "share",
        "unit": "%",
        "groups": [group | {"grade": "inferred"}],
        "folded": [],
    }
    panel = network_panel(request(), galaxy, graph.revision, overlay=overlay, name="hot")
    first, second = panel.rows
    assert (first.value, first.note) == ("60 %", "MatMul, inferred")
    assert (second.value, second.note) == ("", "no data")
    assert panel.overlay_id == "hot-overlay"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_names_of_strangers_are_only_text(client: Client, graph: Graph, name: str) -> None:
    document = json.loads(json.dumps(EXAMPLE))
    document["nodes"]["name"][0] = document["operators"][0] = name
    draw(graph, document)
    page = text(client, PAGE)
    assert name not in page
    assert "alert(1)" in page


def test_a_network_that_is_not_drawn_yet_names_its_job(client: Client, graph: Graph) -> None:
    Job.objects.update(state=JobState.SUCCEEDED)
    assert "inspected again in the background" in text(client, PAGE)
    (job,) = inspections_renew()
    assert f'href="/jobs/{job.uuid}"' in text(client, PAGE)
    Topology.objects.create(graph=graph)
    assert "could not be drawn" in text(client, PAGE)


def test_without_a_network_the_page_says_what_to_do(client: Client) -> None:
    page = text(client, PAGE)
    assert "This revision has no inspected network" in page
    job = Job.objects.get()
    assert f'Its inspection is <a href="/jobs/{job.uuid}">queued</a>' in page
    job.delete()
    assert "Publish an ONNX" in text(client, PAGE)


def test_other_files_are_chosen_by_their_path(client: Client, graph: Graph) -> None:
    draw(graph, EXAMPLE)
    other = Graph.objects.get(pk=graph.pk)
    other.pk = other.uuid = None
    other.uuid = Graph._meta.get_field("uuid").get_default()
    other.path, other.is_primary = "half/model.onnx", False
    other.save()
    page = text(client, PAGE)
    assert "2 networks" in page
    assert "path=half%2Fmodel.onnx" in page
    assert "half/model.onnx was inspected by" in text(client, f"{PAGE}?path=half/model.onnx")
    assert status(client, f"{PAGE}?path=none.onnx") == 404


def test_a_gated_network_is_not_shown(
    client: Client, galaxy: MLModel, graph: Graph, charlie: User
) -> None:
    draw(graph, EXAMPLE)
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate=Gate.MANUAL)
    assert "/head/MatMul" not in text(client, PAGE)
    client.force_login(charlie)
    assert "/head/MatMul" in text(client, PAGE)
