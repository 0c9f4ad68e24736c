"""Topologies over the API: whole, gzipped, conditional, and only for those who may fetch files."""

import gzip
import json

from django.test import Client

from registry import schemas
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate
from registry.tables import Topology, User
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry.drawings import EXAMPLE

ADDRESS = "models/lab/galaxy-cnn/topology"


def test_a_topology_is_sent_plain_or_as_it_is_stored(anonymous: Api, scene: Scene) -> None:
    plain = anonymous.get(ADDRESS)
    assert plain.ok() == EXAMPLE
    assert "Content-Encoding" not in plain.headers
    address = f"/api/v1/{ADDRESS}?path=model.onnx"
    zipped = Client().get(address, headers={"accept-encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(zipped.content)) == EXAMPLE
    assert "Accept-Encoding" in plain.headers["Vary"]
    assert plain.headers["ETag"] != zipped.headers["ETag"]


def test_an_unchanged_topology_is_not_sent_again(anonymous: Api, scene: Scene) -> None:
    etag = anonymous.get(ADDRESS).headers["ETag"]
    assert anonymous.get(ADDRESS, If_None_Match=etag).status == 304
    # Its network may be drawn anew by a later version of the hub, so it is never immutable.
    fixed = anonymous.get(f"{ADDRESS}?revision={scene.revision.oid}", If_None_Match='"other"')
    assert "immutable" not in fixed.headers["Cache-Control"]


def test_what_is_missing_is_said(anonymous: Api, scene: Scene) -> None:
    Topology.objects.all().delete()
    undrawn = anonymous.get(ADDRESS)
    assert undrawn.code == "topology_not_found"
    assert "before networks were drawn" in undrawn.json["detail"]
    Topology.objects.create(graph=scene.graph)
    assert "could not be drawn" in anonymous.get(ADDRESS).json["detail"]
    assert anonymous.get(f"{ADDRESS}?path=other.onnx").code == "graph_not_found"
    assert anonymous.get(f"{ADDRESS}?file=other.onnx").status == 400


def test_a_gated_network_is_for_those_who_may_fetch_its_files(
    anonymous: Api, as_alice: Api, as_charlie: Api, scene: Scene, charlie: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=scene.mlmodel, gate=Gate.MANUAL)
    assert anonymous.get(ADDRESS).code == "access_gated"
    assert as_alice.get(ADDRESS).code == "access_gated"
    assert as_charlie.get(ADDRESS).ok() == EXAMPLE


def test_the_schema_is_public(anonymous: Api) -> None:
    assert anonymous.get("schemas/hpcfair.topology-1.json").ok() == schemas.topology_schema()
