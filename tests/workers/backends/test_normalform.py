"""The normal form of a network is another graph of the same results."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from tests.workers.backends import graphs
from workers.backends.attribution import Operator, attribute, counterparts, graph_of
from workers.backends.normalform import NORMALISER, normaliser
from workers.backends.normalform.annotations import drop_annotations
from workers.backends.normalform.check import Published, Unequal
from workers.backends.normalform.constants import fold_constants
from workers.backends.normalform.functions import inline_functions
from workers.backends.normalform.opset import raise_opset
from workers.backends.normalform.pools import fit_pools
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network
from workers.testing import networks


def normalised(network: Network, out: Path) -> dict[str, Any]:
    """The normaliser's answer; its file is in ``out``."""
    out.mkdir(exist_ok=True)
    return normaliser.normalise(network=asdict(network), out=str(out))


def operators(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def called(body: list[onnx.NodeProto], nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    """``float32[N,4] -> float32[N,4]`` through ``nodes``, which may call ``own.Twice``, a function
    of ``body`` from ``in`` to ``out``."""
    model = graphs.model_of(nodes, opset=17)
    opsets = [helper.make_opsetid("", 17)]
    model.functions.append(helper.make_function("own", "Twice", ["in"], ["out"], body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def pooled(kernel: int, **attributes: Any) -> onnx.ModelProto:
    """``float32[N,3,7,7]`` through one pool with windows of ``kernel``."""
    size = [kernel, kernel]
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=size, **attributes)
    return networks._model(
        [node], networks._Weights(0), [("x", ["N", 3, 7, 7])], [("y", ["N", 3, 1, 1])]
    )


def padded_by_its_size() -> onnx.ModelProto:
    """``float32[N,3,7,5]``, padded to a multiple of four as exporters write it: with pads that are
    computed from sizes and start from a filled tensor."""
    constants = {"axis": 2, "four": 4, "zero": [0], "rest": [5]}
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "axis"], ["rows"]),
        helper.make_node("Mod", ["rows", "four"], ["over"]),
        helper.make_node("Sub", ["four", "over"], ["missing"]),
        helper.make_node("Unsqueeze", ["missing", "zero"], ["pad"]),
        helper.make_node("ConstantOfShape", ["rest"], ["none"]),
        helper.make_node("Concat", ["zero", "zero", "pad", "none"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads"], ["y"]),
    ]
    filled = numpy_helper.from_array(np.zeros(1, np.int64))
    nodes[5].attribute.append(helper.make_attribute("value", filled))
    graph = helper.make_graph(
        nodes,
        "padded",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 7, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3, 8, 5])],
        [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def with_first_operator(model: onnx.ModelProto, operator: str) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.node[0].op_type = operator
    return copy


def renamed_output(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.node[0].output[0] = copy.graph.output[0].name = "other"
    return copy


@given(model=graphs.models())
def test_a_normal_form_computes_the_same(
    model: onnx.ModelProto, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("network")
    network = networks.write(model, folder / "model")
    form = normalised(network, folder / "normal")
    assert not form["skipped"]
    if not form["path"]:
        assert not form["steps"]
        return
    changed = onnx.load(folder / "normal" / form["path"])
    onnx.checker.check_model(changed, full_check=True)
    assert not changed.functions
    assert not changed.graph.value_info
    # The check that workers make, and one with results of another program.
    Published(network).compare(folder / "normal" / form["path"])
    inputs = {"x": np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)}
    expected, actual = (graphs.evaluated(each, inputs) for each in (model, changed))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    # Each node has the name or an output of a published one, to which profiles link it.
    assert all(counterparts(graph_of(model.graph), graph_of(changed.graph)))


def test_sizes_that_do_not_depend_on_an_input_are_constant(tmp_path: Path) -> None:
    network = networks.write(padded_by_its_size(), tmp_path / "model")
    form = normalised(network, tmp_path / "normal")
    assert form["steps"] == ["constants"]
    (pad,) = onnx.load(tmp_path / "normal" / form["path"]).graph.node
    assert pad.op_type == "Pad"


def test_a_mask_stays_finite_in_bfloat16(tmp_path: Path) -> None:
    lowest = numpy_helper.from_array(np.full((1, 4), np.finfo(np.float32).min, np.float32), "mask")
    nodes = [
        helper.make_node("Add", ["x", "mask"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["y"]),
    ]
    model = graphs.model_of(nodes, opset=17)
    model.graph.initializer.append(lowest)
    form = normalised(networks.write(model, tmp_path / "model"), tmp_path / "normal")
    assert form["steps"] == ["lowest"]
    (mask,) = onnx.load(tmp_path / "normal" / form["path"]).graph.initializer
    value = float(numpy_helper.to_array(mask)[0, 0])
    # The upper half of a float32 is a bfloat16.
    assert np.float32(value).tobytes()[:2] == bytes(2)
    assert -np.inf < value < -3.3e38


def test_sizes_that_no_longer_hold_are_dropped(tmp_path: Path) -> None:
    model = networks.mlp()
    stale = helper.make_tensor_value_info("sum0", TensorProto.FLOAT, [7, 9])
    model.graph.value_info.append(stale)
    model.graph.node[0].doc_string = "File model.py, line 3"
    network = networks.write(model, tmp_path / "model")
    form = normalised(network, tmp_path / "normal")
    assert form["steps"] == ["annotations"]
    changed = onnx.load(tmp_path / "normal" / form["path"])
    assert not changed.graph.value_info
    assert [node.output for node in changed.graph.node] == [n.output for n in model.graph.node]


def test_values_of_unknown_operators_keep_their_type() -> None:
    model = networks.with_operator("Own", "own")
    model.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    model.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [7]))
    (value,) = drop_annotations(model).graph.value_info
    assert value.type.tensor_type.elem_type == TensorProto.FLOAT
    assert not value.type.tensor_type.HasField("shape")


def test_a_network_in_normal_form_is_not_written_again(tmp_path: Path) -> None:
    form = normalised(networks.write(networks.mlp(), tmp_path / "model"), tmp_path / "normal")
    assert (form["path"], form["steps"], form["skipped"]) == ("", [], {})
    assert not list((tmp_path / "normal").iterdir())


def test_operators_of_functions_are_linked_to_their_call() -> None:
    body = [
        helper.make_node("Add", ["in", "in"], ["sum"], "inner"),
        helper.make_node("Tanh", ["sum"], ["out"], "outer"),
    ]
    nodes = [
        helper.make_node("Twice", ["x"], ["a"], "first", domain="own"),
        helper.make_node("Twice", ["a"], ["b"], "second", domain="own"),
        helper.make_node("Relu", ["b"], ["y"], "outer"),
    ]
    model = called(body, nodes)
    changed = inline_functions(model)
    assert operators(changed) == {"Add": 2, "Tanh": 2, "Relu": 1}
    runtime = [
        Operator(node.op_type, (node.name,), tuple(node.output)) for node in changed.graph.node
    ]
    links = attribute(graph_of(model.graph), runtime).links
    assert [[link.index for link in each] for each in links] == [[0], [0], [1], [1], [2]]
    assert counterparts(graph_of(model.graph), graph_of(changed.graph)) == [
        *((0,), (0,), (1,), (1,), (2,))
    ]


def test_shapes_that_are_known_are_constants_and_large_ones_are_not_folded() -> None:
    big = numpy_helper.from_array(np.array([512, 512], np.int64), "big")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Shape", ["a"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "one"], ["four"]),
        helper.make_node("Concat", ["minus", "four"], ["target"], axis=0),
        helper.make_node("Reshape", ["a", "target"], ["b"]),
        helper.make_node("Expand", ["half", "big"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["b", "mean"], ["y"]),
    ]
    model = graphs.model_of(nodes, opset=17)
    model.graph.initializer.append(big)
    changed = fold_constants(model)
    assert not operators(changed).keys() & {"Shape", "Gather", "Concat"}
    assert operators(changed)["Expand"] == 1
    assert changed.ByteSize() < model.ByteSize() + 1000


def test_old_operators_are_converted_and_weights_are_no_inputs(tmp_path: Path) -> None:
    model = networks.residual_cnn(opset=11)
    weight = model.graph.initializer[0]
    shape = list(weight.dims)
    model.graph.input.append(helper.make_tensor_value_info(weight.name, TensorProto.FLOAT, shape))
    changed = raise_opset(model)
    assert changed.opset_import[0].version == 14
    assert [value.name for value in changed.graph.input] == ["x"]


def test_a_window_that_is_larger_than_the_image_is_shrunk(tmp_path: Path) -> None:
    network = networks.write(pooled(96, ceil_mode=1, strides=[96, 96]), tmp_path / "model")
    form = normalised(network, tmp_path / "normal")
    assert form["steps"] == ["pools"]
    (node,) = onnx.load(tmp_path / "normal" / form["path"]).graph.node
    assert helper.get_node_attr_value(node, "kernel_shape") == [7, 7]


@pytest.mark.parametrize(
    "model", [pooled(7), pooled(3, ceil_mode=1, strides=[4, 4]), pooled(5, auto_pad="SAME_UPPER")]
)
def test_windows_inside_the_image_stay(model: onnx.ModelProto) -> None:
    assert fit_pools(model).graph.node == model.graph.node


def test_a_step_whose_result_differs_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: onnx.ModelProto) -> onnx.ModelProto:
        return with_first_operator(model, "Neg")

    monkeypatch.setitem(normaliser._STEPS, "pools", wrong)
    model = networks.with_operator("Relu")
    model.graph.node.append(helper.make_node("Identity", ["y"], ["z"]))
    model.graph.output[0].name = "z"
    network = networks.write(model, tmp_path / "model")
    form = normalised(network, tmp_path / "normal")
    assert form["steps"] == ["constants"]
    assert "is not finite where" in form["skipped"]["pools"]
    changed = onnx.load(tmp_path / "normal" / form["path"])
    assert operators(changed)["Neg"] == 0
    Published(network).compare(tmp_path / "normal" / form["path"])


def test_a_step_that_fails_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: onnx.ModelProto) -> onnx.ModelProto:
        raise RuntimeError("no rule for this operator")

    monkeypatch.setitem(normaliser._STEPS, "constants", failing)
    model = networks.mlp()
    model.graph.value_info.append(helper.make_tensor_value_info("sum0", TensorProto.FLOAT, [7, 9]))
    form = normalised(networks.write(model, tmp_path / "model"), tmp_path / "normal")
    assert form["steps"] == ["annotations"]
    assert form["skipped"] == {"constants": "RuntimeError: no rule for this operator"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: with_first_operator(model, "Neg"), "is not finite where"),
        (renamed_output, "its signature is"),
        (lambda model: with_first_operator(model, "NoSuchOperator"), "ONNX Runtime refuses it"),
    ],
)
def test_other_results_are_found(
    tmp_path: Path, change: Callable[[onnx.ModelProto], onnx.ModelProto], reason: str
) -> None:
    model = networks.with_operator("Relu")
    network = networks.write(model, tmp_path / "model")
    onnx.save(change(model), tmp_path / "other.onnx")
    with pytest.raises(Unequal, match=reason):
        Published(network).compare(tmp_path / "other.onnx")


def test_without_a_comparison_there_is_no_normal_form(tmp_path: Path) -> None:
    model = networks.with_operator("NoSuchOperator")
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [7]))
    network = networks.write(model, tmp_path / "model")
    with pytest.raises(InvalidCandidate, match="the published file does not run"):
        normalised(network, tmp_path / "normal")


@pytest.mark.slow
def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    network = networks.write(graphs.exported(), tmp_path / "model")
    module, _, function = NORMALISER.partition(":")
    code = (
        f"import sys; from dataclasses import asdict; from pathlib import Path\n"
        f"import onnx; from {module} import {function}; from workers.testing import networks\n"
        f"path = Path(sys.argv[1])\n"
        f"network = networks.describe(onnx.load(path), path)\n"
        f"{function}(network=asdict(network), out=sys.argv[2])\n"
    )
    written = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        out.mkdir()
        subprocess.run(
            [sys.executable, "-c", code, str(network.model_path), str(out)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        written.append((out / network.model_path.name).read_bytes())
    assert written[0] == written[1]
