"""Folds constants and replaces operators by simpler equal ones, by ONNX Script's optimiser.

PyTorch's exporter applies the same optimiser to what it writes, so its graphs hardly change. It
helps with other exporters: shapes that are computed although they are known, sequences, casts to
the same type, branches with a constant condition.
"""

import math

import onnx
import onnx_ir as ir
from onnx import shape_inference
from onnxscript import optimizer

from workers.backends.normalform.sizes import use_known_sizes

#: Elements of a tensor that is folded, and of the result. Larger ones would make files grow, and
#: runtimes fold them when they open a file.
_MOST_INPUT, _MOST_OUTPUT = 2**13, 2**16


#: A known size shows the sizes of what depends on it.
_MOST_ROUNDS = 8


def fold_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with folded constants and sizes. Nodes and values that remain keep their names."""
    folded = _optimised(model)
    for _ in range(_MOST_ROUNDS):
        simplified = use_known_sizes(folded)
        if simplified is folded:
            break
        folded = _optimised(simplified)
    return folded


def _optimised(model: onnx.ModelProto) -> onnx.ModelProto:
    # The optimiser itself infers sizes node by node, without the values of shapes.
    converted = ir.from_proto(shape_inference.infer_shapes(model, data_prop=True))
    optimizer.optimize_ir(
        converted,
        input_size_limit=_MOST_INPUT,
        output_size_limit=_MOST_OUTPUT,
        should_fold=_folds,
        inline=False,
    )
    result = ir.to_proto(converted)
    # Profiles link nodes by names: an invented one could be that of another node.
    names = {node.name for node in model.graph.node}
    for node in result.graph.node:
        if node.name not in names:
            node.ClearField("name")
    return result


def _folds(node: ir.Node) -> bool | None:
    """Whether to fold a node; ``None`` to leave that to the optimiser, which keeps all filled
    tensors. The pads that PyTorch's older exporter computes start from one."""
    if node.op_type != "ConstantOfShape" or node.domain not in {"", "ai.onnx"}:
        return None
    shape = node.inputs[0].const_value if node.inputs and node.inputs[0] is not None else None
    return shape is not None and math.prod(shape.numpy().tolist()) <= _MOST_OUTPUT
