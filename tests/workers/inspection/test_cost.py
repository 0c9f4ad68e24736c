"""Parameters and multiply-accumulates, against numbers counted by hand or published."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.workers.inspection.conftest import Read, facts_of
from tests.workers.inspection.networks import Net, lstm, mlp

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        # Known counts: He et al. 2015 table 1 (3.8e9 without the stem's and shortcut's extras),
        # torchvision 4.09e9; Krizhevsky 2012 as grouped in Caffe; Simonyan 2014 model E.
        ("light_resnet50", 4_089_184_256),
        ("light_bvlc_alexnet", 654_560_384),
        ("light_vgg19", 19_632_062_464),
        ("light_squeezenet", 349_151_936),
    ],
)
def test_published_architectures_cost_what_is_published(name: str, macs: int) -> None:
    assert facts_of(LIGHT, f"{name}.onnx").macs == macs


def test_parameters_are_weights_and_not_sizes(read: Read) -> None:
    net = Net()
    x = net.dense("x", 6, 4)
    y = net.op("Reshape", x, net.constant(np.array([-1, 2, 2], np.int64)))
    facts = read(net.model([y], ("N", 6)))
    assert facts.parameters == 6 * 4 + 4
    assert facts.weight_bytes == 4 * facts.parameters


def test_weights_written_as_constant_nodes_count(read: Read) -> None:
    net = Net()
    value = onnx.numpy_helper.from_array(np.ones((6, 4), np.float16))
    weight = net.op("Constant", value=value)
    facts = read(net.model([net.op("MatMul", "x", weight)], ("N", 6), TensorProto.FLOAT16))
    assert (facts.parameters, facts.weight_bytes, facts.macs) == (24, 48, 24)


def test_a_dense_network_multiplies_every_weight_once(read: Read) -> None:
    assert read(mlp()).macs == 12 * 16 + 16 * 16 + 16 * 3


def test_a_recurrent_layer_multiplies_every_weight_once_a_step(read: Read) -> None:
    assert read(lstm()).macs == 5 * (32 * 6 + 32 * 8) + 5 * 8 * 4


@pytest.mark.parametrize(
    ("shape", "weight", "attributes", "macs"),
    [
        ((1, 3, 8, 8), (4, 3, 3, 3), {}, 6 * 6 * 4 * 27),
        ((2, 3, 8, 8), (4, 3, 3, 3), {"strides": [2, 2], "pads": [1] * 4}, 2 * 16 * 4 * 27),
        ((1, 4, 8, 8), (4, 1, 3, 3), {"group": 4}, 36 * 4 * 9),
        ((1, 4, 8), (6, 4, 1), {}, 8 * 6 * 4),
        ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), {}, 27 * 3 * 16),
    ],
)
def test_a_convolution_multiplies_its_kernel_at_every_output(
    read: Read, shape: tuple[int, ...], weight: tuple[int, ...], attributes: Any, macs: int
) -> None:
    net = Net()
    y = net.op("Conv", "x", net.weight(*weight), **attributes)
    assert read(net.model([y], shape)).macs == macs


def test_a_transposed_convolution_multiplies_its_kernel_at_every_input(read: Read) -> None:
    net = Net()
    y = net.op("ConvTranspose", "x", net.weight(3, 5, 2, 2), strides=[2, 2])
    assert read(net.model([y], (1, 3, 4, 4))).macs == 3 * 16 * 5 * 4


@pytest.mark.parametrize(
    ("equation", "shapes", "macs"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4)), 24),
        ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4)), 120),
        ("ij->ji", ((2, 3),), 0),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)), None),
        ("...ij,...jk->...ik", ((1, 2, 3), (1, 3, 4)), None),
    ],
)
def test_an_einstein_sum_multiplies_all_its_indices(
    read: Read, equation: str, shapes: tuple[tuple[int, ...], ...], macs: int | None
) -> None:
    net = Net()
    others = [net.weight(*shape) for shape in shapes[1:]]
    y = net.op("Einsum", "x", *others, equation=equation)
    assert read(net.model([y], shapes[0])).macs == macs


@pytest.mark.parametrize("trans", [0, 1])
def test_a_transposed_left_factor_counts_the_same(read: Read, trans: int) -> None:
    net = Net()
    y = net.op("Gemm", "x", net.weight(6, 4), transA=trans)
    assert read(net.model([y], (6, 5) if trans else (5, 6))).macs == 5 * 6 * 4


def test_open_dimensions_count_one(read: Read) -> None:
    net = Net()
    y = net.op("MatMul", "x", net.weight(6, 4))
    model = net.model([y], ("batch", "sequence", 6))
    assert read(model).macs == 24


def _loop(trips: str, condition: str) -> onnx.ModelProto:
    """A loop whose body multiplies ``x [1, 4]`` with a square weight."""
    net = Net()
    weight = net.weight(4, 4)
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", weight], ["next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, 4]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, 4]),
        ],
    )
    count = net.constant(np.array(7, np.int64))
    asked = net.op("ReduceSum", net.op("Cast", "x", to=TensorProto.INT64), keepdims=0)
    inputs = [{"fixed": count, "asked": asked}[trips], condition, "x"]
    return net.model([net.op("Loop", *inputs, body=body)], (1, 4))


def test_a_loop_costs_its_rounds_where_they_are_known(read: Read) -> None:
    assert read(_loop("fixed", "")).macs == 7 * 16
    assert read(_loop("asked", "")).macs is None


def test_a_branch_costs_the_dearer_side(read: Read) -> None:
    net = Net()
    sides = []
    for width in (2, 8):
        weights = [net.weight(4, width), net.weight(width, 4)]
        nodes = [
            helper.make_node("MatMul", ["x", weights[0]], [f"h{width}"]),
            helper.make_node("MatMul", [f"h{width}", weights[1]], [f"y{width}"]),
        ]
        out = helper.make_tensor_value_info(f"y{width}", TensorProto.FLOAT, [1, 4])
        sides.append(helper.make_graph(nodes, f"side{width}", [], [out]))
    asked = net.op("Cast", net.op("ReduceSum", "x", keepdims=0), to=TensorProto.BOOL)
    y = net.op("If", asked, then_branch=sides[0], else_branch=sides[1])
    facts = read(net.model([y], (1, 4)))
    assert facts.macs == 2 * 4 * 8
    assert facts.operators["MatMul"] == 4


def test_an_operator_of_unknown_cost_leaves_the_count_open(read: Read) -> None:
    net = Net()
    y = net.op("Relu", net.dense("x", 6, 4))
    model = net.model([y], ("N", 6))
    assert read(model).macs == 24
    node = helper.make_node("QAttention", [y], ["z"], domain="com.microsoft")
    model.graph.node.append(node)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert read(model).macs is None


@pytest.mark.parametrize(("rows", "macs"), [("N", 24), (5, 120), ("other", None)])
def test_contributed_products_count_where_the_file_states_their_shapes(
    read: Read,
    rows: int | str,
    macs: int | None,
) -> None:
    net = Net()
    name = net.op("FusedMatMul", "x", net.weight(6, 4), domain="com.microsoft")
    graph = helper.make_graph(
        net.nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 4])],
        net.initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    assert read(helper.make_model(graph, opset_imports=opsets, ir_version=8)).macs == macs
