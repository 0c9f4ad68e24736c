"""What a caller gives and gets."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.dimensions import with_short_names
from tests.workers.inspection.conftest import Read, Refusal
from tests.workers.inspection.networks import Net, bert, ssd


def test_named_dimensions_keep_their_names(read: Read) -> None:
    signature = read(bert()).signature
    assert signature["inputs"] == [{"name": "x", "dtype": "int64", "shape": ["batch", "sequence"]}]
    assert signature["outputs"][0]["shape"] == ["batch", "sequence", 16]


def test_outputs_come_in_the_order_of_the_file(read: Read) -> None:
    shapes = [tensor["shape"] for tensor in read(ssd()).signature["outputs"]]
    assert shapes == [["N", 672, 4], ["N", 672, 6]]


def test_weights_that_double_as_inputs_are_not_inputs(read: Read) -> None:
    net = Net()
    net.dense("x", 4, 2)
    model = net.model([net.nodes[-1].output[0]], ("N", 4), ir_version=3, opset=8)
    for tensor in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
    assert [tensor["name"] for tensor in read(model).signature["inputs"]] == ["x"]


def test_unnamed_dimensions_get_names_of_their_own(read: Read) -> None:
    model = Net()
    model.op("Relu", "x")
    proto = model.model(["t1"], (None, "M", None, 3))  # type: ignore[arg-type]
    shape = read(proto).signature["inputs"][0]["shape"]
    assert shape == ["N", "M", "K", 3]


def test_names_that_an_exporter_made_up_become_short_ones(read: Read) -> None:
    model = Net()
    model.op("Relu", "x")
    proto = model.model(["t1"], ("s77", "height", "s40", 3))  # type: ignore[arg-type]
    for dim, size in zip(
        proto.graph.output[0].type.tensor_type.shape.dim,
        ("s77", "height", "s40 + 2*s77", 3),
        strict=False,
    ):
        dim.dim_param = str(size)
    signature = read(proto).signature
    assert signature["inputs"][0]["shape"] == ["N", "height", "M", 3]
    assert signature["outputs"][0]["shape"][:3] == ["N", "height", "M + 2*N"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("unk__12", "N"),
        ("input_dynamic_axes_1", "N"),
        ("Addoutput_dim_0", "N"),
        ("DynamicDimension.0", "N"),
        ("batch", "batch"),
        ("sequence_length", "sequence_length"),
        ("S", "S"),
    ],
)
def test_only_names_of_exporters_are_replaced(name: str, shown: str) -> None:
    tensor = {"name": "x", "dtype": "float32", "shape": [name, 3]}
    named = with_short_names({"inputs": [tensor], "outputs": []})
    assert named["inputs"][0]["shape"] == [shown, 3]


def test_negative_sizes_of_old_exporters_are_open(read: Read) -> None:
    net = Net()
    net.op("Relu", "x")
    model = net.model(["t1"], ("N", 3))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert read(model).signature["inputs"][0]["shape"] == ["M", 3]


def test_open_output_shapes_are_inferred(read: Read) -> None:
    net = Net()
    net.dense("x", 4, 2)
    model = net.model(["t3"], ("N", 4))
    for dim in model.graph.output[0].type.tensor_type.shape.dim:
        dim.Clear()
    assert read(model).signature["outputs"][0]["shape"] == ["N", 2]


def test_an_output_without_a_shape_is_a_warning_not_an_error(read: Read) -> None:
    net = Net()
    net.dense("x", 4, 2)
    model = net.model(["t3"], ("N", 4))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    warnings: list[str] = []
    assert read(model, warnings).signature["outputs"][0]["shape"] == ["N", 2]
    assert "rank of every input and output" in warnings[0]


def test_types_are_spelled_as_numpy_spells_them(read: Read) -> None:
    for number, name in [
        (TensorProto.FLOAT16, "float16"),
        (TensorProto.BFLOAT16, "bfloat16"),
        (TensorProto.DOUBLE, "float64"),
        (TensorProto.STRING, "string"),
        (TensorProto.BOOL, "bool"),
        (TensorProto.FLOAT8E4M3FN, "float8_e4m3fn"),
    ]:
        x = helper.make_tensor_value_info("x", number, ["N"])
        y = helper.make_tensor_value_info("y", number, ["N"])
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        assert read(model).signature["inputs"][0]["dtype"] == name


def test_what_is_no_tensor_has_a_compound_type(read: Read) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    y = helper.make_value_info("y", helper.make_sequence_type_proto(tensor))
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)]
    )
    found = read(model).signature["outputs"]
    assert found == [{"name": "y", "dtype": "sequence(float32)", "shape": []}]


def test_an_unknown_rank_is_not_taken_for_a_scalar(read: Read) -> None:
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]),
            helper.make_tensor_value_info("s", TensorProto.INT64, ["rank"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert read(model).signature["outputs"][0]["shape"] == ["..."]


def test_a_scalar_has_no_dimensions(read: Read) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    assert read(model).signature["inputs"][0]["shape"] == []


def test_a_sparse_weight_is_no_input_and_counts_what_it_stores(read: Read) -> None:
    values = numpy_helper.from_array(np.ones(3, np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 5, 9], np.int64), "i")
    sparse = helper.make_sparse_tensor(values, indices, [4, 4])
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        sparse_initializer=[sparse],
    )
    facts = read(onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert [tensor["name"] for tensor in facts.signature["inputs"]] == ["x"]
    assert facts.parameters == 3


def test_a_large_sparse_weight_is_read_without_its_bytes(read: Read) -> None:
    values = numpy_helper.from_array(np.ones(3000, np.float32), "w")
    indices = numpy_helper.from_array(np.arange(3000, dtype=np.int64), "i")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 100])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 100])],
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [100, 100])],
    )
    facts = read(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    assert (facts.parameters, facts.weight_bytes) == (3000, 12000)


def test_a_missing_rank_hides_no_other_fault(refusal: Refusal) -> None:
    model = Net()
    model.op("Relu", "x")
    proto = model.model(["t1"], ("N", 3))
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    proto.graph.node[0].input[0] = "nowhere"
    assert refusal(proto).code == "onnx_invalid"
