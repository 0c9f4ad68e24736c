"""Compact topologies: what a browser draws of a topology, small, and nothing of it lost."""

import gzip
import json
import random
from itertools import accumulate
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, helper

from registry.selectors.analysis.compacttopology import compact_topology, node_details
from registry.selectors.analysis.topologycache import ParsedTopology
from tests.registry.drawings import EXAMPLE, document_of
from tests.workers.inspection.networks import Net

#: Bytes of the topology of some 5,000 nodes, gzipped.
_MOST_BYTES = 50_000


def small() -> dict[str, Any]:
    net = Net()
    x = net.op("Relu", net.conv("x", 3, 8), name="/first/Relu")
    return document_of(net.model([net.head(x, 8)]))


def encoder(layers: int) -> ModelProto:
    """Layers of 49 nodes with the names that exporters give, weights and constants."""
    chance = random.Random(0)  # noqa: S311 - not a secret
    nodes: list[Any] = []
    weights: list[Any] = []

    def op(kind: str, name: str, *inputs: str) -> str:
        out = f"{name}_output_0"
        nodes.append(helper.make_node(kind, inputs, [out], name=name))
        return out

    def weight(name: str, *shape: int) -> str:
        size = 1
        for each in shape:
            size *= each
        values = [chance.random() for _ in range(size)]
        weights.append(helper.make_tensor(name, TensorProto.FLOAT, shape, values))
        return name

    last = "x"
    for layer in range(layers):
        root, scope = f"/encoder/layer.{layer}", f"encoder.layer.{layer}"
        for part in ("query", "key", "value", "out", "up", "down", "gate"):
            start = last
            for step, kind in enumerate(("MatMul", "Add", "Sigmoid", "Mul", "Tanh", "Neg", "Add")):
                name = f"{root}/{part}/{kind}_{step}"
                if step == 0:
                    last = op(kind, name, last, weight(f"{scope}.{part}.weight", 8, 8))
                elif step == 1:
                    last = op(kind, name, last, weight(f"{scope}.{part}.bias", 8))
                else:
                    last = op(kind, name, *([last] if kind in {"Sigmoid", "Tanh", "Neg"}
                                            else [last, start]))  # fmt: skip
    graph = helper.make_graph(
        nodes, "encoder",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["batch", 8])],
        weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def written_out(compact: dict[str, Any]) -> dict[str, Any]:
    """The columns of a compact topology as those of the document, as ``compact.js`` reads them."""
    nodes, tensors = compact["nodes"], compact["tensors"]
    outputs = lists(nodes["outputs"])
    makers = {tensor: node for node, made in enumerate(outputs) for tensor in made}
    return {
        "nodes": {
            **{name: nodes[name] for name in ("operator", "name", "macs", "parameter_bytes")},
            "group": list(accumulate(nodes["group"])),
            "body": list(accumulate(nodes["body"])),
            "x": places(nodes["x"]),
            "y": places(nodes["y"]),
            "inputs": lists(nodes["inputs"]),
            "outputs": outputs,
        },
        "tensors": {
            "name": [
                name
                if isinstance(name, str)
                else nodes["name"][makers[tensor]] + tensors["suffixes"][name]
                for tensor, name in enumerate(tensors["name"])
            ],
            "dtype": [tensors["types"][at][0] for at in tensors["type"]],
            "shape": [tensors["types"][at][1] for at in tensors["type"]],
        },
    }


def lists(packed: dict[str, Any]) -> list[list[int]]:
    numbers = iter(accumulate(packed["steps"]))
    return [[next(numbers) for _ in range(count)] for count in packed["count"]]


def places(packed: dict[str, Any]) -> list[int | None]:
    steps = accumulate(packed["steps"])
    return [None if step < 0 else step * packed["unit"] for step in steps]


@pytest.mark.parametrize("document", [EXAMPLE, small(), document_of(encoder(1))])
def test_a_compact_topology_has_all_columns_but_attributes_and_statistics(
    document: dict[str, Any],
) -> None:
    compact = json.loads(json.dumps(compact_topology(document)))
    seen = written_out(compact)
    for part in ("nodes", "tensors"):
        assert seen[part] == document[part]
    for part in ("groups", "bodies", "inputs", "outputs", "totals", "omitted", "path"):
        assert compact[part] == document[part]
    stored = list(accumulate(compact["initializers"]["tensor"]))
    assert stored == document["initializers"]["tensor"]
    # Edges follow from inputs and outputs.
    assert compact["edges"] is None


def test_edges_that_do_not_follow_are_sent() -> None:
    document = small()
    edges = {name: [*column, 0] for name, column in document["edges"].items()}
    assert compact_topology(document | {"edges": edges})["edges"] == edges


def test_details_are_those_of_one_node() -> None:
    document = small()
    details = node_details(document, 0)
    assert "kernel_shape" in [name for name, _, _ in details["attributes"]]
    assert set(details["statistics"]) <= {str(tensor) for tensor in document["nodes"]["inputs"][0]}
    assert 3 * 8 * 9 in [one["elements"] for one in details["statistics"].values()]
    assert node_details(document, 1) == {"attributes": [], "statistics": {}}


def test_a_compact_topology_five_thousand_nodes_is_small() -> None:
    document = document_of(encoder(100))
    assert len(document["nodes"]["name"]) == 4900
    assert len(ParsedTopology(document).compact_gzipped) < _MOST_BYTES
    whole = gzip.compress(json.dumps(document).encode(), mtime=0)
    assert len(whole) > 4 * len(ParsedTopology(document).compact_gzipped)
