"""Pulling, reusing and forking a model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, NoModelFile

OID = "3f786850e387550fdab836ed7e6dc881de23001b"
CARD = b"---\nlicense: mit\n---\n# Tiny\n"
SOURCE = "/api/v1/models/lab/tiny"
FORK = "/api/v1/models/me/fork"


@pytest.fixture(autouse=True)
def source(hub: Any, tiny: bytes, answer: Callable[..., httpx.Response]) -> None:
    """A published model, and a hub that lets it be forked."""
    files = [hub.keep(tiny, "nets/model.onnx"), hub.keep(CARD, "README.md")]
    hub.on("GET", SOURCE, {"name": "lab/tiny"})
    hub.on("GET", f"{SOURCE}/graph", {"path": "nets/model.onnx", "facts": {"forms": []}})
    hub.on("GET", f"{SOURCE}/revisions/main", {"oid": OID, "files": files})
    hub.on("GET", f"{SOURCE}/revisions/v1", {"oid": "ab" * 20, "files": files[1:]})
    hub.on("POST", "/api/v1/models", httpx.Response(201, json={}))
    hub.on("POST", f"{FORK}/commits", {"oid": "cd" * 20, "files": [], "jobs": []})


def test_pull_copies_the_files_to_be_changed(client: Client, tiny: bytes, tmp_path: Path) -> None:
    revision = client.pull("lab/tiny", tmp_path / "mine")

    assert revision.oid == OID
    assert (tmp_path / "mine" / "nets" / "model.onnx").read_bytes() == tiny
    (tmp_path / "mine" / "README.md").write_text("changed")
    client.pull("lab/tiny", tmp_path / "other")
    assert (tmp_path / "other" / "README.md").read_bytes() == CARD


def test_pull_replaces_and_leaves_other_files_alone(client: Client, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")

    client.pull("lab/tiny", tmp_path, revision="v1")

    assert (tmp_path / "README.md").read_bytes() == CARD
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "README.md",
        "notes.txt",
    ]


def test_reuse_as_a_path_gives_the_folder(client: Client, tiny: bytes) -> None:
    reused = client.reuse("lab/tiny")

    assert (reused.model / "nets" / "model.onnx").read_bytes() == tiny
    assert (reused.base, reused.base_revision, reused.fork) == ("lab/tiny", OID, None)


def test_reuse_as_onnx_gives_the_graph_with_its_weights(client: Client) -> None:
    proto = client.reuse("lab/tiny", as_="onnx").model

    weights = onnx.numpy_helper.to_array(proto.graph.initializer[0])
    np.testing.assert_array_equal(weights, np.full((4, 3), 0.5, np.float32))


def test_reuse_as_onnx_of_a_revision_without_a_graph_is_refused(client: Client) -> None:
    with pytest.raises(NoModelFile):
        client.reuse("lab/tiny", as_="onnx", revision="v1")


def test_an_unknown_form_is_refused(hub: Any, client: Client) -> None:
    unknown: Any = "fortran"

    with pytest.raises(BadInput, match="onnx, torch, path"):
        client.reuse("lab/tiny", as_=unknown)
    assert hub.requests == []


def test_a_copy_is_made_on_the_hub_and_says_nothing_else_of_itself(
    hub: Any, client: Client, sent: Callable[..., Any]
) -> None:
    reused = client.reuse("lab/tiny", to="me/fork")

    assert reused.fork is not None
    commit = sent(hub.calls("POST", f"{FORK}/commits")[0])
    assert commit["operations"] == [
        {
            "op": "copy",
            "source": "lab/tiny",
            "source_revision": OID,
            "path": path,
            "source_path": path,
        }
        for path in ("nets/model.onnx", "README.md")
    ]
    assert OID in commit["message"]
    assert not hub.calls("PUT", "/api/v1/blobs")
