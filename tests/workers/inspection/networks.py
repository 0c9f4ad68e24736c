"""Small networks of every class, built node by node: real in structure, tiny in width."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.rng = np.random.default_rng(seed)
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names[0]

    def weight(self, *shape: int) -> str:
        return self.constant(self.rng.normal(0, 0.1, shape).astype(np.float32))

    def constant(self, value: Any) -> str:
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def conv(
        self, x: str, cin: int, cout: int, kernel: int = 3, stride: int = 1, group: int = 1
    ) -> str:
        pad = kernel // 2
        weights = [x, self.weight(cout, cin // group, kernel, kernel), self.weight(cout)]
        return self.op(
            "Conv",
            *weights,
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=group,
        )

    def dense(self, x: str, fan_in: int, fan_out: int) -> str:
        return self.op("Gemm", x, self.weight(fan_in, fan_out), self.weight(fan_out))

    def linear(self, x: str, fan_in: int, fan_out: int) -> str:
        product = self.op("MatMul", x, self.weight(fan_in, fan_out))
        return self.op("Add", product, self.weight(fan_out))

    def head(self, x: str, channels: int) -> str:
        pooled = self.op("Flatten", self.op("GlobalAveragePool", x))
        return self.dense(pooled, channels, 10)

    def model(
        self,
        outputs: Sequence[str],
        shape: Sequence[int | str] = ("N", 3, 32, 32),
        dtype: int = TensorProto.FLOAT,
        opset: int = 17,
        ir_version: int = 8,
    ) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", dtype, list(shape))],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            self.initializers,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
        )
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def _stack(net: Net, x: str, plan: Sequence[tuple[int, int]], bottleneck: bool) -> tuple[str, int]:  # noqa: FBT001
    channels = 8
    for width, blocks in plan:
        for block in range(blocks):
            stride = 2 if block == 0 and width > 8 else 1
            out = width * 4 if bottleneck else width
            if bottleneck:
                y = net.op("Relu", net.conv(x, channels, width, 1))
                y = net.op("Relu", net.conv(y, width, width, 3, stride))
                y = net.conv(y, width, out, 1)
            else:
                y = net.op("Relu", net.conv(x, channels, width, 3, stride))
                y = net.conv(y, width, width)
            skip = x if out == channels and stride == 1 else net.conv(x, channels, out, 1, stride)
            x, channels = net.op("Relu", net.op("Add", y, skip)), out
    return x, channels


def resnet18(seed: int = 0) -> onnx.ModelProto:
    net = Net(seed)
    x = net.op("Relu", net.conv("x", 3, 8, 7, 2))
    x, channels = _stack(net, x, [(8, 2), (16, 2), (32, 2), (64, 2)], bottleneck=False)
    return net.model([net.head(x, channels)], ("N", 3, 64, 64))


def resnet50(seed: int = 0) -> onnx.ModelProto:
    net = Net(seed)
    x = net.op("Relu", net.conv("x", 3, 8, 7, 2))
    x, channels = _stack(net, x, [(8, 3), (16, 4), (32, 6), (64, 3)], bottleneck=True)
    return net.model([net.head(x, channels)], ("N", 3, 64, 64))


def vgg(layers: int = 8) -> onnx.ModelProto:
    net = Net()
    x, channels = "x", 3
    for i in range(layers):
        x = net.op("Relu", net.conv(x, channels, 8))
        channels = 8
        if i % 3 == 2:
            x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return net.model([net.head(x, channels)])


def _mobile(net: Net) -> list[str]:
    """Inverted residual blocks; features at three scales."""
    x, features = net.op("Clip", net.conv("x", 3, 8, 3, 2)), []
    for _ in range(3):
        for stride in (2, 1):
            y = net.op("Clip", net.conv(x, 8, 16, 1))
            y = net.op("Clip", net.conv(y, 16, 16, 3, stride, group=16))
            y = net.conv(y, 16, 8, 1)
            x = net.op("Add", x, y) if stride == 1 else y
        features.append(x)
    return features


def mobilenet() -> onnx.ModelProto:
    net = Net()
    return net.model([net.head(_mobile(net)[-1], 8)], ("N", 3, 64, 64))


def ssd() -> onnx.ModelProto:
    """MobileNet features with a box and a class head at each scale."""
    net = Net()
    found = []
    for channels in (4, 6):
        parts = [
            net.op(
                "Reshape",
                net.op("Transpose", net.conv(feature, 8, 2 * channels), perm=[0, 2, 3, 1]),
                net.constant(np.array([0, -1, channels], np.int64)),
            )
            for feature in _features_once(net)
        ]
        found.append(net.op("Concat", *parts, axis=1))
    found[1] = net.op("Softmax", found[1], axis=-1)
    return net.model(found, ("N", 3, 64, 64))


def _features_once(net: Net) -> list[str]:
    if not hasattr(net, "features"):
        net.features = _mobile(net)  # type: ignore[attr-defined]
    return net.features  # type: ignore[attr-defined,no-any-return]


def bert(layers: int = 3, hidden: int = 16, heads: int = 2) -> onnx.ModelProto:
    net = Net()
    x = net.op("Gather", net.weight(50, hidden), "x")
    split = net.constant(np.array([0, 0, heads, hidden // heads], np.int64))
    merge = net.constant(np.array([0, 0, hidden], np.int64))
    scale = net.constant(np.float32(np.sqrt(hidden // heads)))

    def apart(y: str, perm: list[int]) -> str:
        return net.op("Transpose", net.op("Reshape", y, split), perm=perm)

    def norm(y: str) -> str:
        return net.op("LayerNormalization", y, net.weight(hidden), net.weight(hidden))

    for _ in range(layers):
        query = apart(net.linear(x, hidden, hidden), [0, 2, 1, 3])
        key = apart(net.linear(x, hidden, hidden), [0, 2, 3, 1])
        value = apart(net.linear(x, hidden, hidden), [0, 2, 1, 3])
        scores = net.op("Div", net.op("MatMul", query, key), scale)
        mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), value)
        joined = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), merge)
        x = norm(net.op("Add", x, net.linear(joined, hidden, hidden)))
        grown = net.op("Erf", net.linear(x, hidden, 4 * hidden))
        x = norm(net.op("Add", x, net.linear(grown, 4 * hidden, hidden)))
    return net.model([x], ("batch", "sequence"), TensorProto.INT64)


def lstm() -> onnx.ModelProto:
    net = Net()
    x = net.op("LSTM", "x", net.weight(1, 32, 6), net.weight(1, 32, 8), hidden_size=8)
    return net.model([net.linear(x, 8, 4)], (5, "N", 6))


def mlp() -> onnx.ModelProto:
    net = Net()
    x = net.op("Relu", net.dense("x", 12, 16))
    return net.model([net.dense(net.op("Relu", net.dense(x, 16, 16)), 16, 3)], ("N", 12))


def filter_only() -> onnx.ModelProto:
    net = Net()
    return net.model([net.op("Sqrt", net.op("Abs", "x"))], ("N", 4))


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": resnet18,
    "resnet50": resnet50,
    "vgg": vgg,
    "mobilenet": mobilenet,
    "ssd": ssd,
    "bert": bert,
    "lstm": lstm,
    "mlp": mlp,
    "filter_only": filter_only,
}
