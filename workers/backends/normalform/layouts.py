"""Moves transpositions to channels-last behind element-wise operators, to meet their inverse.

Exporters of channels-last networks transpose around every convolution, and add its bias and apply
its activation in between, where no runtime fuses them::

    Conv ─▶ Transpose ─▶ Add ─▶ Relu ─▶ Transpose ─▶ Conv      becomes      Conv ─▶ Relu ─▶ Conv
"""

from collections.abc import Sequence

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph, attribute

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
#: Operators that treat all elements of their first input alike; further inputs are scalars.
_UNARY = frozenset(
    {
        *("Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Sigmoid", "HardSigmoid", "HardSwish"),
        *("Tanh", "Softplus", "Softsign", "Erf", "Gelu", "Mish", "Clip", "Exp", "Sqrt", "Neg"),
    }
)
_BINARY = frozenset({"Add", "Sub", "Mul", "Div", "Max", "Min"})
#: Operators between a convolution and the transposition of its output.
_BETWEEN = _UNARY | _BINARY | {"Slice", "Pad", "MaxPool", "AveragePool", "GlobalAveragePool"}


def sink_transpositions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with transpositions of convolutions' outputs to channels-last as late as possible,
    without those that cancel out, and with biases inside their convolutions."""
    if not any(map(_is_channels_last, model.graph.node)):
        return model
    graph = EditableGraph(model)
    is_changed = True
    # One pass follows a transposition down; what it frees is moved by the next one.
    while is_changed:
        is_changed = False
        for node in list(graph.nodes):
            is_changed |= _step(graph, node)
    graph.remove_unused()
    for node in list(graph.nodes):
        _add_bias(graph, node)
    return graph.model()


def _is_channels_last(node: onnx.NodeProto) -> bool:
    """Whether a node moves the channels of an image or a volume behind all other axes."""
    perm = list(attribute(node, "perm", ())) if node.op_type == "Transpose" else []
    return len(perm) > 3 and perm == [0, *range(2, len(perm)), 1]


def _step(graph: EditableGraph, node: onnx.NodeProto) -> bool:
    """Remove or move one transposition before ``node``; whether there was one."""
    if node.op_type == "Transpose":
        return _cancel(graph, node)
    moved = [_movable(graph, name) for name in node.input]
    if node.op_type in _UNARY and moved[0] is not None:
        others = list(node.input[1:])
        scalars = [graph.constant(name) for name in filter(None, others)]
        if all(scalar is not None and scalar.size == 1 for scalar in scalars):
            return _move(graph, node, moved[:1], [moved[0].input[0], *others])
    if node.op_type in _BINARY and len(moved) == 2:
        return _move_operands(graph, node, moved)
    return False


def _cancel(graph: EditableGraph, second: onnx.NodeProto) -> bool:
    """Let the readers of a transposition read what its inverse before it reads."""
    first = graph.producers.get(second.input[0])
    consumers = graph.consumers[second.output[0]]
    if first is None or not _is_channels_last(first) or None in consumers:
        return False
    inverse = [int(axis) for axis in np.argsort(attribute(first, "perm", ()))]
    if list(attribute(second, "perm", ())) != inverse:
        return False
    for consumer in filter(None, consumers):
        for at, name in enumerate(consumer.input):
            if name == second.output[0]:
                consumer.input[at] = first.input[0]
    graph.replace([second], [])
    return True


def _move_operands(
    graph: EditableGraph, node: onnx.NodeProto, moved: Sequence[onnx.NodeProto | None]
) -> bool:
    """Move the transpositions of both operands, or that of one beside a constant."""
    perms = [attribute(each, "perm", ()) for each in moved if each is not None]
    if not perms or len(perms[0]) != len(perms[-1]):
        return False
    rank, inputs = len(perms[0]), []
    for name, each in zip(node.input, moved, strict=True):
        constant = graph.constant(name)
        if each is not None:
            inputs.append(each.input[0])
        elif constant is not None and constant.ndim <= rank:
            value = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
            inputs.append(graph.add_constant(name, value.transpose(np.argsort(perms[0]))))
        else:
            return False
    return _move(graph, node, moved, inputs)


def _movable(graph: EditableGraph, name: str) -> onnx.NodeProto | None:
    """The transposition to channels-last of a convolution's output, if only one operator reads it:
    attention has other ones, which runtimes expect in their place."""
    node = graph.producers.get(name)
    if node is None or not _is_channels_last(node) or graph.only_consumer(name) is None:
        return None
    before = graph.producers.get(node.input[0])
    while before is not None and before.op_type in _BETWEEN:
        sources = (graph.producers.get(each) for each in before.input)
        before = next((source for source in sources if source is not None), None)
    return node if before is not None and before.op_type in _CONVOLUTIONS else None


def _move(
    graph: EditableGraph,
    node: onnx.NodeProto,
    moved: Sequence[onnx.NodeProto | None],
    inputs: Sequence[str],
) -> bool:
    """Let ``node`` read ``inputs``, and transpose its output in place of its operands."""
    transpositions = [each for each in moved if each is not None]
    inner, after = _copy(node), _copy(transpositions[0])
    del inner.input[:]
    inner.input.extend(inputs)
    inner.output[0] = after.input[0] = graph.fresh(node.output[0])
    after.output[0] = node.output[0]
    graph.replace([*transpositions, node], [inner, after])
    return True


def _add_bias(graph: EditableGraph, node: onnx.NodeProto) -> None:
    """Move a constant that is added to each channel of a convolution into it."""
    total = graph.only_consumer(node.output[0]) if node.op_type in _CONVOLUTIONS else None
    weights = graph.constant(node.input[1]) if total is not None else None
    if total is None or total.op_type != "Add" or weights is None or len(node.input) > 2:
        return
    other = next((name for name in total.input if name != node.output[0]), "")
    bias, groups = graph.constant(other), attribute(node, "group", 1)
    channels = weights.shape[0] if node.op_type == "Conv" else weights.shape[1] * groups
    if bias is None or bias.shape != (1, channels, *[1] * (weights.ndim - 2)):
        return
    fused = _copy(node)
    fused.input.append(graph.add_constant(other, bias.reshape(channels)))
    fused.output[0] = total.output[0]
    graph.replace([node, total], [fused])


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
