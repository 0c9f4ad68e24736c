"""Seeded weights for an architecture without weights, such that signals neither vanish nor explode.

First every weight is drawn from its He distribution (He et al. 2015, section 2.2), with neutral
normalisations. Then one batch passes through the network node by node, and each layer adapts to
its input: batch normalisations take its statistics, as after training, and layers without one are
centred and rescaled to unit variance (data-dependent initialisation, Kraehenbuehl et al. 2016,
section 3.1). Otherwise deep networks return the same output for every input, and a wrong build
could not be detected.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from hpcfair.runtimes.quiet_onnxruntime import ort

Floats = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]

#: Standard deviation of the class scores over classes, as of a trained classifier.
SCORE_SPREAD = 2.0
#: Mean of the input of an activation, in standard deviations. At zero a rectifier cuts half away
#: and the rest is rescaled, so small differences grow from layer to layer (Poole et al. 2016,
#: arXiv:1606.05340): MobileNetV2 turned 1 % of input noise into 22 % of output noise; at one
#: deviation, as in trained networks, it is 0.5 %.
FOLDED_MEAN = 1.0
#: Least number of values of a channel whose mean is the channel's and not the samples'.
_FEWEST_CELLS = 64
_PASSES_THROUGH = frozenset({"Reshape", "Unsqueeze"})
_NORMALISATION_ROLES = {1: "scale", 2: "shift", 3: "zero", 4: "one"}


def draw_weights(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Replace every ``ConstantOfShape`` of ``graph`` by a random initializer of the same name."""
    constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    roles = _roles(graph)
    drawn: list[onnx.TensorProto] = []
    for node in [node for node in graph.node if node.op_type == "ConstantOfShape"]:
        shape = [int(size) for size in constants[node.input[0]]]
        value = _draw(roles[node.output[0]], shape, rng)
        drawn.append(numpy_helper.from_array(value, node.output[0]))
        graph.node.remove(node)
    graph.initializer.extend(drawn)


def settle(
    model: onnx.ModelProto, feed: Mapping[str, npt.NDArray[Any]], *, folded: bool = False
) -> None:
    """Run ``feed`` through ``model`` node by node and adapt each layer's weights to it. ``folded``:
    leave each channel with unit variance and mean :data:`FOLDED_MEAN`, as a trained normalisation,
    folded or not. Otherwise all channels of a layer are rescaled alike, and centred."""
    graph = model.graph
    values: Arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer} | dict(feed)
    weights = {i.name for i in graph.initializer}
    source = _weight_sources(graph, weights)
    normalised = {n.input[0] for n in graph.node if n.op_type == "BatchNormalization"}
    heads = _heads(graph)
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            seen = values[node.input[0]]
            axes = (0, *range(2, seen.ndim))
            values[node.input[3]] = seen.mean(axis=axes).astype(np.float32)
            values[node.input[4]] = (seen.var(axis=axes) + 1e-3).astype(np.float32)
            if folded:
                values[node.input[2]] = values[node.input[2]] + np.float32(FOLDED_MEAN)
        outputs = _run(model, node, values)
        if node.op_type in {"Conv", "Gemm"} and node.output[0] not in normalised:
            head = node.output[0] in heads
            spread = SCORE_SPREAD if head else 1.0
            _unit_variance(
                node, source, values, outputs[0], spread=spread, centred=not head, folded=folded
            )
            outputs = _run(model, node, values)
        values.update(zip(node.output, outputs, strict=True))
    for initializer in graph.initializer:
        initializer.CopyFrom(numpy_helper.from_array(values[initializer.name], initializer.name))


def _heads(graph: onnx.GraphProto) -> set[str]:
    """Outputs of the layers that make the scores, which no other layer reads."""
    read_by_layers: set[str] = set()
    heads: set[str] = set()
    for node in reversed(graph.node):
        followed = not read_by_layers.isdisjoint(node.output)
        layer = node.op_type in {"Conv", "Gemm"}
        if layer and not followed:
            heads.add(node.output[0])
        if layer or followed:
            read_by_layers.update(node.input)
    return heads


def _roles(graph: onnx.GraphProto) -> dict[str, str]:
    """Role of each tensor in the layer that reads it, looking through reshapes of weights."""
    users = {name: (node, i) for node in graph.node for i, name in enumerate(node.input)}
    roles: dict[str, str] = {}
    for name in list(users):
        node, position = users[name]
        while node.op_type in _PASSES_THROUGH and position == 0 and node.output[0] in users:
            node, position = users[node.output[0]]
        if node.op_type == "BatchNormalization":
            roles[name] = _NORMALISATION_ROLES.get(position, "data")
        elif node.op_type in {"Conv", "Gemm"}:
            roles[name] = ("data", "weight", "shift")[position]
        else:
            roles[name] = {"Mul": "scale", "Add": "shift"}.get(node.op_type, "data")
    return roles


def _draw(role: str, shape: list[int], rng: np.random.Generator) -> Floats:
    """A seeded tensor for ``role``; a weight is laid out ``[out, in, ...]``."""
    match role:
        case "weight":
            # Fully connected weights of older exporters have leading ones: [1, 1, out, in].
            while len(shape) > 2 and shape[0] == 1:
                shape = shape[1:]
            fan_in = math.prod(shape[1:])
            return rng.normal(0.0, math.sqrt(2.0 / fan_in), shape).astype(np.float32)
        case "scale":
            return (1.0 + rng.normal(0.0, 0.1, shape)).astype(np.float32)
        case "shift":
            return rng.normal(0.0, 0.1, shape).astype(np.float32)
        case "zero":
            return np.zeros(shape, np.float32)
        case "one":
            return np.ones(shape, np.float32)
        case _:
            raise ValueError(f"no layer says what a constant of shape {shape} is for")


def _weight_sources(graph: onnx.GraphProto, weights: set[str]) -> dict[str, str]:
    """Tensor name to the initializer it is, directly or through reshapes."""
    sources = {name: name for name in weights}
    for node in graph.node:
        if node.op_type in _PASSES_THROUGH and node.input[0] in sources:
            sources[node.output[0]] = sources[node.input[0]]
    return sources


def _run(model: onnx.ModelProto, node: onnx.NodeProto, values: Arrays) -> list[npt.NDArray[Any]]:
    """Outputs of one node, computed alone by ONNX Runtime."""
    names = [name for name in dict.fromkeys(node.input) if name]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape
        )
        for name in names
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    alone = helper.make_model(
        helper.make_graph([node], "alone", inputs, outputs),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )
    session = ort.InferenceSession(alone.SerializeToString(), providers=["CPUExecutionProvider"])
    result: list[npt.NDArray[Any]] = session.run(None, {name: values[name] for name in names})
    return result


def _unit_variance(
    node: onnx.NodeProto,
    source: Mapping[str, str],
    values: Arrays,
    output: Floats,
    *,
    spread: float,
    centred: bool,
    folded: bool,
) -> None:
    """Rescale the weight of ``node`` so that its output has standard deviation ``spread``.

    A ``centred`` convolution with a bias also loses its mean per channel. Exceptions are dense
    layers and convolutions at the end of a pyramid, whose few values are mostly their mean, and
    convolutions that make scores, whose channels are classes that a later pooling could not tell
    apart.
    """
    bias = values[node.input[2]] if len(node.input) > 2 else np.zeros(1, np.float32)
    cells = output.size // output.shape[1]
    centred = centred and output.ndim == 4 and len(node.input) > 2 and cells >= _FEWEST_CELLS
    plain = output - bias.reshape(1, -1, *(1,) * (output.ndim - 2))
    centre = plain.mean(axis=(0, 2, 3), keepdims=True) if centred else np.float32(0)
    # Without enough values for a mean per channel, there are too few for its spread as well.
    axes = (0, 2, 3) if centred and folded else None
    gain = (spread / ((plain - centre).std(axis=axes) + 1e-12)).astype(np.float32)
    for name in {node.input[1], source[node.input[1]]}:
        values[name] = values[name] * gain.reshape(-1, *(1,) * (values[name].ndim - 1))
    if centred:
        mean = FOLDED_MEAN if folded else 0.0
        values[node.input[2]] = (bias + mean - gain * centre.ravel()).astype(np.float32)
