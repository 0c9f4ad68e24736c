"""Sizes of 3x3 convolutions, from which backends choose an algorithm."""

from onnx import TensorProto

from workers.inspection.flow import Flow, Step


def dense_convolutions(flow: Flow) -> list[list[int]]:
    """``[inputs, outputs, rows, columns]`` of each distinct 3x3 convolution of the main graph with
    stride 1, one group, constant float32 weights and known sizes, in ascending order: its channels,
    and the image that it gives."""
    sizes = {size for step in flow.main.steps if (size := _sizes(flow, step)) is not None}
    return [list(each) for each in sorted(sizes)]


def _sizes(flow: Flow, step: Step) -> tuple[int, int, int, int] | None:
    value = step.input(1)
    if step.op != "Conv" or not step.outputs or value is None:
        return None
    weights, result = flow.constants.get(value), flow.shape(step.outputs[0])
    if weights is None or weights.overridable or weights.dtype != TensorProto.FLOAT:
        return None
    is_dense = step.number("group", 1) == 1 and weights.shape[2:] == (3, 3)
    # Both lists may be absent, which means ones.
    is_dense &= {*step.numbers("strides"), *step.numbers("dilations"), 1} == {1}
    if not is_dense or result is None or len(result) != 4:
        return None
    rows, columns = result[2:]
    if rows is None or columns is None:
        return None
    return weights.shape[1], weights.shape[0], rows, columns
