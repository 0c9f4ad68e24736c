"""Documents of whole networks: what they tell, and what hostile files do to them."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from registry.validation.topology import check_topology
from tests.registry.drawings import document_of, topology_problems
from tests.workers.inspection.networks import Net
from workers.inspection.inspect import inspect
from workers.inspection.topology import attributes, columns, weights
from workers.testing.tflite import write_convolutional


def sound(document: dict[str, Any]) -> dict[str, Any]:
    """A document that can be stored and has the schema."""
    assert topology_problems(document) == {}
    check_topology(gzip.compress(json.dumps(document).encode()), "a" * 64, document["path"])
    return document


def model(
    nodes: list[onnx.NodeProto], initializers: list[TensorProto], **more: Any
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        initializers,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **more
    )


def statistics_of(values: Any, **changes: Any) -> dict[str, Any]:
    """The statistics of a weight."""
    tensor = numpy_helper.from_array(np.asarray(values), "w")
    for name, value in changes.items():
        setattr(tensor, name, value)
    net = model(
        [helper.make_node("Shape", ["w"], ["s"]), helper.make_node("Relu", ["x"], ["y"])], [tensor]
    )
    document = sound(document_of(net))
    found: dict[str, Any] = document["initializers"]["statistics"][0]
    return found


def test_a_document_tells_types_costs_and_attributes() -> None:
    net = Net()
    y = net.head(net.op("Relu", net.conv("x", 3, 8)), 8)
    document = sound(document_of(net.model([y])))
    operators = [document["operators"][n] for n in document["nodes"]["operator"]]
    assert operators == ["Conv", "Relu", "GlobalAveragePool", "Flatten", "Gemm"]
    assert document["nodes"]["macs"][0] == 32 * 32 * 8 * 3 * 9
    assert document["nodes"]["macs"][1] == 0
    assert document["nodes"]["parameter_bytes"][0] == 4 * (8 * 3 * 9 + 8)
    conv = document["nodes"]["outputs"][0][0]
    assert document["tensors"]["shape"][conv] == ["N", 8, 32, 32]
    assert document["dtypes"][document["tensors"]["dtype"][conv]] == "float32"
    assert [0, "kernel_shape", "ints", "[3, 3]"] in document["attributes"]
    edges = document["edges"]
    assert list(zip(edges["source"], edges["target"], strict=True)) == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
    ]
    assert len(document["inputs"]) == len(document["outputs"]) == 1


def test_constants_keep_their_positions_but_are_not_drawn() -> None:
    value = numpy_helper.from_array(np.arange(4, dtype=np.float32), "v")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=value),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    document = sound(document_of(model(nodes, [])))
    assert document["nodes"]["x"][0] is None
    assert document["nodes"]["x"][1] is not None
    assert document["edges"]["source"] == []
    assert document["initializers"]["node"] == [0]
    assert document["initializers"]["statistics"][0]["max"] == 3


def test_bodies_of_control_flow_lead_to_their_node() -> None:
    out = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    branches = {
        name: helper.make_graph([helper.make_node(operator, ["x"], ["o"])], name, [], [out])
        for name, operator in (("then_branch", "Relu"), ("else_branch", "Neg"))
    }
    condition = numpy_helper.from_array(np.asarray(True), "c")  # noqa: FBT003
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    document = sound(document_of(model(nodes, [condition])))
    assert document["bodies"] == {
        "node": [-1, 0, 0], "name": ["main", "else_branch", "then_branch"],
    }  # fmt: skip
    assert document["nodes"]["body"] == [0, 1, 2]
    assert set(zip(document["edges"]["source"], document["edges"]["target"], strict=True)) == {
        (1, 0), (2, 0),
    }  # fmt: skip
    assert [document["groups"]["kind"][n] for n in document["nodes"]["group"]] == [
        "network", "body", "body",
    ]  # fmt: skip


def test_statistics_are_those_of_the_weights() -> None:
    values = np.random.default_rng(1).normal(0, 2, 1000).astype(np.float32)
    values[:250] = 0
    found = statistics_of(values)
    assert found["min"] == pytest.approx(values.min(), rel=1e-5)
    assert found["max"] == pytest.approx(values.max(), rel=1e-5)
    assert found["mean"] == pytest.approx(values.mean(), rel=1e-4)
    assert found["std"] == pytest.approx(values.std(), rel=1e-4)
    assert found["zeros"] == 0.25
    assert sum(found["histogram"]) == found["counted"] == found["elements"] == 1000


def test_values_that_are_no_numbers_are_counted_and_left_out() -> None:
    found = statistics_of(np.asarray([np.nan, np.inf, -np.inf, 1, 3], np.float32))
    assert (found["nan"], found["inf"], found["min"], found["max"], found["mean"]) == (
        1,
        2,
        1,
        3,
        2,
    )
    empty = statistics_of(np.full(3, np.nan, np.float32))
    assert (empty["min"], empty["histogram"], empty["nan"]) == (None, [], 3)
    wide = statistics_of(np.asarray([-1.7e308, 1.7e308]))
    assert wide["histogram"] == []
    assert json.dumps(wide, allow_nan=False)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int64", "bool"])
def test_every_common_element_type_has_statistics(dtype: str) -> None:
    found = statistics_of(np.asarray([0, 1, 1, 0]).astype(dtype))
    assert (found["min"], found["max"], found["zeros"]) == (0, 1, 0.5)


def test_reduced_types_have_statistics() -> None:
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3], [0.0, 1.5, -2.0])
    nodes = [helper.make_node("Shape", ["w"], ["s"]), helper.make_node("Relu", ["x"], ["y"])]
    document = sound(document_of(model(nodes, [tensor])))
    found = document["initializers"]["statistics"][0]
    assert (found["min"], found["max"]) == (-2, 1.5)


def test_bytes_in_other_files_are_read(tmp_path: Path) -> None:
    values = np.arange(2000, dtype=np.float32)
    net = model(
        [helper.make_node("Shape", ["w"], ["s"]), helper.make_node("Relu", ["x"], ["y"])],
        [numpy_helper.from_array(values, "w")],
    )
    onnx.save_model(
        net, tmp_path / "model.onnx", save_as_external_data=True, location="w.bin",
        size_threshold=0,
    )  # fmt: skip
    (tmp_path / "out").mkdir()
    report = inspect(str(tmp_path), topologies=str(tmp_path / "out"))
    packed = (tmp_path / "out" / report["topologies"]["model.onnx"]).read_bytes()
    found = json.loads(gzip.decompress(packed))["initializers"]["statistics"][0]
    assert (found["min"], found["max"], found["counted"]) == (0, 1999, 2000)


def test_weights_beyond_the_bounds_have_no_statistics_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workers.inspection.topology.statistics.MOST_BYTES", 100)
    net = Net()
    y = net.dense(net.op("Flatten", "x"), 3 * 32 * 32, 4)
    document = sound(document_of(net.model([y], shape=(1, 3, 32, 32))))
    assert "statistics" in document["omitted"]
    assert None in document["initializers"]["statistics"]


def test_long_attributes_are_cut() -> None:
    nodes = [
        helper.make_node(
            "Relu", ["x"], ["a"], domain="other", floats=[1.5] * 100_000, text="é" * 9999
        ),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    net = model(nodes, [])
    net.opset_import.append(helper.make_opsetid("other", 1))
    document = attributes.attributes_of(net.graph.node[0].attribute)
    shown = {name: value for name, _, value in document}
    assert len(shown["floats"]) <= attributes.MAX_TEXT
    assert "100,000 in all" in shown["floats"] or shown["floats"].endswith("…")
    assert len(shown["text"]) <= attributes.MAX_TEXT


def test_of_many_attributes_the_rest_is_left_out_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "MAX_ATTRIBUTE_TEXT", 30)
    net = Net()
    document = sound(document_of(net.model([net.conv(net.conv("x", 3, 3), 3, 3)])))
    assert "attributes" in document["omitted"]


def test_of_very_many_nodes_the_first_are_drawn_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(weights, "MAX_NODES", 10)
    net = Net()
    x = "x"
    for _ in range(25):
        x = net.op("Relu", x)
    document = sound(document_of(net.model([x])))
    assert document["omitted"] == ["nodes"]
    assert len(document["nodes"]["name"]) == 10
    assert document["totals"]["nodes"] == 25


def test_names_are_one_short_line() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="a\nb\x00" + "c" * 10_000)]
    document = sound(document_of(model(nodes, [])))
    (name,) = document["nodes"]["name"]
    assert len(name) <= columns.MAX_NAME
    assert name.isprintable()


def test_tensorflow_lite_networks_are_drawn(tmp_path: Path) -> None:
    write_convolutional(tmp_path / "model.tflite")
    (tmp_path / "out").mkdir()
    report = inspect(str(tmp_path), topologies=str(tmp_path / "out"))
    packed = (tmp_path / "out" / report["topologies"]["model.tflite"]).read_bytes()
    document = sound(json.loads(gzip.decompress(packed)))
    assert document["format"] == "tflite"
    assert "CONV_2D" in document["operators"]
    assert sum(document["nodes"]["macs"]) == report["graphs"][0]["macs"]
    assert len(document["edges"]["source"]) >= len(document["nodes"]["name"]) - 1


def test_the_order_of_a_document_is_deterministic() -> None:
    net = Net()
    x = net.head(net.conv("x", 3, 8), 8)
    assert document_of(net.model([x])) == document_of(net.model([x]))
