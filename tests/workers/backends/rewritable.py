"""Small networks that rewrites change."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)


def convolution(
    source: str, result: str, channels: tuple[int, int], kernel: int = 1, **attributes: int
) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """A convolution with a bias that keeps the size of pictures, and its weights."""
    shape = (channels[1], channels[0] // attributes.get("group", 1), kernel, kernel)
    weights = RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    arrays = {f"{result}.w": weights, f"{result}.b": RNG.standard_normal(channels[1])}
    given: dict[str, Any] = {"pads": [kernel // 2] * 4, **attributes}
    node = helper.make_node("Conv", [source, *arrays], [result], result, **given)
    return [node], [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()]


def network(
    parts: Sequence[tuple[list[onnx.NodeProto], list[onnx.TensorProto]] | onnx.NodeProto],
    channels: int = 16,
    outputs: Sequence[str] = ("y",),
) -> onnx.ModelProto:
    """Nodes and convolutions from ``x``, ``float32[N, channels, 8, 8]``."""
    pairs = [([part], []) if isinstance(part, onnx.NodeProto) else part for part in parts]
    graph = helper.make_graph(
        [node for nodes, _ in pairs for node in nodes],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, 8, 8])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [tensor for _, tensors in pairs for tensor in tensors],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def fire(*, consumer: int = 8, pool: bool = False, seen: bool = False) -> onnx.ModelProto:
    """Two convolutions side by side, joined, pooled or not, and a narrow convolution of that."""
    maximum = helper.make_node(
        "MaxPool", ["joined"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2]
    )
    return network(
        [
            convolution("x", "a", (16, 32)),
            convolution("x", "b", (16, 32), 3),
            helper.make_node("Concat", ["a", "b"], ["joined"], axis=1),
            *([maximum] if pool else []),
            convolution("pooled" if pool else "joined", "narrow", (64, consumer)),
            helper.make_node("Relu", ["narrow"], ["y"]),
        ],
        outputs=("y", "joined") if seen else ("y",),
    )


def shuffled(*, shape: Sequence[int] = (0, 4, 4, 8, 8)) -> onnx.ModelProto:
    """A channel shuffle between a grouped and a depthwise convolution."""
    shapes = {"parted": np.array(shape), "whole": np.array([0, 16, 8, 8])}
    tensors = [numpy_helper.from_array(a.astype(np.int64), name) for name, a in shapes.items()]
    return network(
        [
            convolution("x", "a", (16, 16), group=4),
            ([helper.make_node("Reshape", ["a", "parted"], ["b"])], tensors),
            helper.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 1, 3, 4]),
            helper.make_node("Reshape", ["c", "whole"], ["d"]),
            convolution("d", "y", (16, 16), 3, group=16),
        ]
    )


def dealt(*, groups: int = 4, seen: bool = False) -> onnx.ModelProto:
    """A shuffle, a depthwise convolution, a normalisation, a Clip, and a grouped convolution."""
    roles = {"gain": 1.5, "offset": 0.1, "mean": 0.2, "variance": 0.7}
    arrays = {role: middle + 0.1 * RNG.random(16) for role, middle in roles.items()}
    arrays |= {"low": np.array(-1.0), "high": np.array(1.0)}
    tensors = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]
    sizes = {"parted": np.array([0, 4, 4, 8, 8]), "whole": np.array([0, 16, 8, 8])}
    tensors += [numpy_helper.from_array(a.astype(np.int64), name) for name, a in sizes.items()]
    nodes = [
        helper.make_node("Reshape", ["x", "parted"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["c", "whole"], ["d"]),
    ]
    normalised = helper.make_node("BatchNormalization", ["e", *roles], ["f"])
    return network(
        [
            (nodes, tensors),
            convolution("d", "e", (16, 16), 3, group=16),
            normalised,
            helper.make_node("Clip", ["f", "low", "high"], ["g"]),
            convolution("g", "y", (16, 32), group=groups),
        ],
        outputs=("y", "d") if seen else ("y",),
    )


def stem(*, seen: bool = False) -> onnx.ModelProto:
    """A convolution of 24 channels into a pooling."""
    return network(
        [
            convolution("x", "a", (16, 24), 3),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MaxPool", ["b"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        ],
        outputs=("y", "b") if seen else ("y",),
    )


def residual() -> onnx.ModelProto:
    return network([convolution("x", "a", (16, 16)), helper.make_node("Sum", ["x", "a"], ["y"])])


def colours(*, pooled: bool) -> onnx.ModelProto:
    """A convolution of three colours, pooled or not, and a wider one."""
    pool = helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2])
    return network(
        [
            convolution("x", "a", (3, 16), 3),
            helper.make_node("Relu", ["a"], ["b"]),
            *([pool] if pooled else []),
            convolution("c" if pooled else "b", "y", (16, 32), 3),
        ],
        channels=3,
    )


def normalised(*, beta: float = 0.75) -> onnx.ModelProto:
    """A local response normalisation, stronger than usual."""
    given: dict[str, Any] = {"size": 5, "alpha": 0.5, "beta": beta, "bias": 2.0}
    return network(
        [convolution("x", "a", (16, 16)), helper.make_node("LRN", ["a"], ["y"], "lrn", **given)]
    )


def scaled(*, shape: Sequence[int] = (16, 1, 1)) -> onnx.ModelProto:
    """A normalisation and a convolution, each with a scale and a shift behind it: of channels, or
    of whatever has ``shape``."""
    roles = ("gain", "offset", "mean", "variance")
    arrays = {role: 0.5 + RNG.random(16) for role in roles} | {
        role: RNG.standard_normal(shape) for role in ("scale", "shift")
    }
    tensors = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]
    return network(
        [
            ([helper.make_node("BatchNormalization", ["x", *roles], ["a"])], tensors),
            helper.make_node("Mul", ["scale", "a"], ["b"]),
            helper.make_node("Add", ["b", "shift"], ["c"]),
            helper.make_node("Relu", ["c"], ["d"]),
            convolution("d", "e", (16, 16)),
            helper.make_node("Mul", ["e", "scale"], ["f"]),
            helper.make_node("Add", ["shift", "f"], ["y"]),
        ]
    )
