"""Networks as graphs: fetched, printed as a tree, and as JSON."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.topology import tree

#: Two groups, one inside the other, and a constant, which is not drawn.
DOCUMENT: dict[str, Any] = {
    "path": "model.onnx", "omitted": [], "operators": ["Conv", "Relu", "Constant"],
    "dtypes": ["float32"],
    "nodes": {
        "operator": [0, 1, 2], "name": ["/a/b/Conv", "", ""], "group": [2, 0, 0],
        "x": [0, 0, None], "outputs": [[0], [-1], [1]],
    },
    "tensors": {"name": ["t", "c"], "dtype": [0, -1], "shape": [["N", 3], None]},
    "groups": {"name": ["", "a", "b"], "parent": [-1, 0, 1]},
}  # fmt: skip
ADDRESS = "/api/v1/models/lab/tiny/topology"


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.app, list(words), obj=client)


def test_a_network_is_fetched_whole(hub: Any, client: Client) -> None:
    hub.on("GET", ADDRESS, DOCUMENT)
    assert client.topology("lab/tiny", revision="v1", path="half.onnx") == DOCUMENT
    assert dict(hub.requests[0].url.params) == {"revision": "v1", "path": "half.onnx"}


def test_a_tree_has_groups_and_drawn_nodes(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", ADDRESS, DOCUMENT)
    assert run("graph", "lab/tiny").stdout.splitlines() == [
        "model.onnx  (2 nodes)",
        "  1  Relu",
        "  a  (1 nodes)",
        "    b  (1 nodes)",
        "      0  Conv  /a/b/Conv  float32[N,3]",
    ]
    assert list(tree(DOCUMENT, depth=0)) == ["model.onnx  (2 nodes)"]


def test_the_whole_graph_is_printed_as_json(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", ADDRESS, DOCUMENT)
    assert json.loads(run("graph", "lab/tiny", "--json").stdout) == DOCUMENT


def test_what_is_left_out_is_said(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", ADDRESS, DOCUMENT | {"omitted": ["nodes"]})
    assert "Incomplete: nodes." in run("graph", "lab/tiny").stderr
