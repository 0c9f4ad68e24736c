"""Builds are fetched for other machines, which load them from the cache without the hub."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hpcfair import cli, machine
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadInput, NotFound, Offline
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning

TARGET = {
    "slug": "cluster",
    "title": "Nodes of the cluster",
    "architecture": machine.architecture(),
    "features": ["amx_tile", "avx2"],
    "rank": 60,
}


@pytest.fixture
def cluster(hub: Any, resolution: dict[str, Any]) -> dict[str, Any]:
    """The hub's answer to machines of a target that this machine does not belong to."""
    hub.on("GET", "/api/v1/targets/cluster", TARGET)
    resolution["companions"] = [hub.keep(b"{}", "tokenizer.json")]
    return resolution


@pytest.fixture
def node(config: Config, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client on a node of the cluster, without a network and with the same cache."""
    features = tuple(sorted({*machine.describe().features, "amx_tile", "avx2", "bf16"}))
    here = replace(machine.describe(), features=features, cores=96)
    monkeypatch.setattr(machine, "describe", lambda: here)
    return Client(config=replace(config, offline=True))


def test_a_node_without_network_loads_what_was_fetched_for_its_target(
    hub: Any, client: Client, cluster: dict[str, Any], node: Client, sent: Callable[..., Any]
) -> None:
    (fetch,) = client.prefetch("lab/tiny", targets=["cluster"], tolerance="int8")

    request = sent(hub.calls("POST", "/api/v1/models/lab/tiny/resolve")[0])
    assert request["machine"]["features"] == TARGET["features"]
    assert (fetch.target, fetch.revision) == ("cluster", cluster["revision"])
    assert fetch.build is not None
    assert fetch.path.is_file()
    with pytest.warns(StaleAnswerWarning):
        model = node.load("lab/tiny", tolerance="int8")
    with model:
        assert model(np.ones((2, 4), np.float32)).shape == (2, 3)
        assert (model.folder / "tokenizer.json").read_bytes() == b"{}"
    # It was fetched for int8 only.
    with pytest.raises(Offline):
        node.load("lab/tiny")


def test_without_a_build_the_published_network_is_fetched(
    client: Client, cluster: dict[str, Any], node: Client
) -> None:
    cluster |= {"build": None, "record_id": None, "reason": "It is not tuned there yet."}

    with pytest.warns(PlainModelWarning, match="no build suits cluster"):
        (fetch,) = client.prefetch("lab/tiny", targets=["cluster"])

    assert fetch.build is None
    with pytest.warns((StaleAnswerWarning, PlainModelWarning)):
        node.load("lab/tiny", as_="path")


def test_the_command_says_what_it_fetched(client: Client, cluster: dict[str, Any]) -> None:
    words = ["prefetch", "lab/tiny", "--target", "cluster", "--runtime", "onnxruntime"]

    outcome = CliRunner().invoke(cli.app, words, obj=client)
    document = json.loads(CliRunner().invoke(cli.app, [*words, "--json"], obj=client).stdout)

    assert outcome.stdout.startswith("cluster\tonnxruntime threads=one [exact]\t")
    assert [each["target"] for each in document] == ["cluster"]


def test_what_does_not_exist_is_refused(client: Client, cluster: dict[str, Any]) -> None:
    with pytest.raises(NotFound):
        client.prefetch("lab/tiny", targets=["abacus"])
    with pytest.raises(BadInput, match="no runtime 'onyx'"):
        client.prefetch("lab/tiny", targets=["cluster"], runtimes=["onyx"])
    with pytest.raises(BadInput, match="hpcfair prefetch"):
        client.load("lab/tiny", target="arm64-neoverse-v2" if TARGET["architecture"] == "x86-64"
                    else "x86-64-amx")  # fmt: skip


def test_a_text_is_no_list_of_targets(client: Client) -> None:
    with pytest.raises(BadInput, match=r"targets=\['x86-64-amx'\]"):
        client.prefetch("lab/tiny", targets="x86-64-amx")
