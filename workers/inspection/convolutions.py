"""Sizes of convolutions, from which backends choose an algorithm."""

from typing import Any

from onnx import TensorProto

from workers.inspection.flow import Flow, Step


def dense_convolutions(flow: Flow) -> list[dict[str, Any]]:
    """The distinct convolutions of the main graph with stride 1, one group, constant float32
    weights and a kernel of several positions: ``inputs`` and ``outputs``, their channels, and lists
    of the sizes of the other axes (``kernel``, ``dilations``, ``result``)."""
    distinct: list[dict[str, Any]] = []
    for step in flow.main.steps:
        sizes = _sizes(flow, step)
        if sizes is not None and sizes not in distinct:
            distinct.append(sizes)
    return distinct


def _sizes(flow: Flow, step: Step) -> dict[str, Any] | None:
    value = step.input(1)
    if step.op != "Conv" or not step.outputs or value is None:
        return None
    weights, result = flow.constants.get(value), flow.shape(step.outputs[0])
    if weights is None or weights.overridable or weights.dtype != TensorProto.FLOAT:
        return None
    if len(weights.shape) < 3:
        return None
    outputs, inputs, *kernel = weights.shape
    # A list that is absent means ones.
    is_dense = step.number("group", 1) == 1 and {*step.numbers("strides"), 1} == {1}
    is_dense &= max(kernel, default=1) > 1
    if not is_dense or result is None or len(result) != len(weights.shape) or None in result[2:]:
        return None
    dilations = list(step.numbers("dilations")) or [1] * len(kernel)
    sizes = {"kernel": kernel, "dilations": dilations, "result": list(result[2:])}
    return {"inputs": inputs, "outputs": outputs, **sizes}
