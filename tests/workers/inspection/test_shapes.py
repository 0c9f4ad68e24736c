"""Shape inference that cannot be made to run away."""

import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, parser

from tests.workers.inspection.conftest import Read, Refusal
from tests.workers.inspection.networks import Net
from workers.inspection.shapes import with_shapes

HUGE = 2**31 - 1


def _parsed(graph: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> agraph {graph}')


@pytest.mark.parametrize(
    "graph",
    [
        f"(float[9,9] x, int64[2] a, int64[{HUGE}] b) => (float[p,q] y) {{ y = Slice(x, a, b) }}",
        f"(int64[{HUGE}] x, int64[2] i) => (int64[p] y) {{ y = Gather(x, i) }}",
        f"(int64[{HUGE}] x) => (int64[p] y) {{ y = Add(x, x) }}",
        f"(int64[{HUGE}] x, int64[2] i) => (int64[p] y) {{ y = Concat <axis = 0> (x, i) }}",
        f"""(float[2] x) => (int64[p] y) {{
            n = Constant <value = int64[1] {{{HUGE}}}> ()
            t = ConstantOfShape <value = int64[1] {{1}}> (n)
            y = Add(t, t)
        }}""",
        f"""(float[{HUGE}] x) => (int64[p] y) {{
            n = Shape(x)
            t = ConstantOfShape <value = int64[1] {{1}}> (n)
            y = Add(t, t)
        }}""",
    ],
)
def test_lists_that_are_only_claimed_take_no_memory(read: Read, graph: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read(_parsed(graph)).graph_hash
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


@pytest.mark.parametrize("claimed", [3, HUGE, 2**62])
def test_a_split_into_more_outputs_than_it_has_is_refused(refusal: Refusal, claimed: int) -> None:
    graph = (
        f"(float[6] x) => (float[p] y, float[q] z) {{ y, z = Split <num_outputs = {claimed}> (x) }}"
    )
    assert "outputs, not 2" in refusal(_parsed(graph)).detail


def test_sizes_computed_from_sizes_are_followed(read: Read) -> None:
    model = _parsed(
        """(float[N, 4, 5] x) => (float[p, q] y) {
            shape = Shape(x)
            zero = Constant <value = int64[1] {0}> ()
            batch = Gather(shape, zero)
            rest = Constant <value = int64[1] {-1}> ()
            target = Concat <axis = 0> (batch, rest)
            y = Reshape(x, target)
        }"""
    )
    inferred = with_shapes(model, dynamic=1)
    assert [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim] == [1, 20]
    assert read(model).macs == 0


def test_named_dimensions_are_closed_wherever_the_name_stands() -> None:
    model = _parsed("(float[N, M] x) => (float[N, M] y) { y = com.microsoft.Gelu(x) }")
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "other"
    sizes = with_shapes(model, dynamic=1).graph.output[0].type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in sizes] == ["dim_value", None]


def test_the_model_itself_is_left_as_it_is() -> None:
    net = Net()
    model = net.model([net.op("Reshape", "x", net.constant(np.array([-1], np.int64)))], ("N", 3))
    before = model.SerializeToString()
    with_shapes(model, dynamic=1)
    assert model.SerializeToString() == before
    assert model.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
