"""Architectures for pictures that the onnx wheel lacks, as their papers describe them."""

from collections.abc import Sequence

import numpy as np
import onnx

from examples.models.graph import Graph

CLASSES = 1000
#: Classes of COCO with the background, and anchors at each of the six scales (Liu et al. 2016,
#: section 2.2; the first scale has three).
DETECTED = 91
ANCHORS = (3, 6, 6, 6, 6, 6)

#: Expansion, channels, repeats and stride of each stage (Sandler et al. 2018, table 2).
_INVERTED = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
#: Channels and stride of each separable convolution (Howard et al. 2017, table 1).
_SEPARABLE = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)),
)
#: The separable convolution that the detector's finest head reads.
_FINEST = 10


def resnet18(rng: np.random.Generator, size: int = 224) -> onnx.ModelProto:
    """ResNet-18 (He et al. 2015, table 1): ``input float32[N, 3, size, size]`` to ``logits``."""
    g = Graph("resnet18", rng)
    x = g.input("input", ["N", 3, size, size])
    x = g.op("Relu", "relu", g.conv("conv1", x, (3, 64), 7, stride=2))
    x = g.op("MaxPool", "maxpool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    width = 64
    for stage, channels in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _basic_block(g, f"layer{stage}.{block}", x, (width, channels), stride)
            width = channels
    return _classifier(g, x, width, "fc")


def mobilenet_v2(rng: np.random.Generator, size: int = 224) -> onnx.ModelProto:
    """MobileNetV2 1.0 (Sandler et al. 2018): ``input float32[N, 3, size, size]`` to ``logits``."""
    g = Graph("mobilenet_v2", rng)
    x = g.input("input", ["N", 3, size, size])
    x = _relu6(g, "features.0", g.conv("features.0.0", x, (3, 32), 3, stride=2))
    width, layer = 32, 1
    for expansion, channels, repeats, first in _INVERTED:
        for stride in [first] + [1] * (repeats - 1):
            x = _inverted_block(g, f"features.{layer}", x, (width, channels), stride, expansion)
            width, layer = channels, layer + 1
    x = _relu6(g, f"features.{layer}", g.conv(f"features.{layer}.0", x, (width, 1280)))
    return _classifier(g, x, 1280, "classifier.1")


def ssd_mobilenet(rng: np.random.Generator, size: int = 300) -> onnx.ModelProto:
    """SSD on MobileNetV1 (Liu et al. 2016; Howard et al. 2017, section 4.6), before suppression.
    ``input float32[N, 3, size, size]`` to ``bbox_regression float32[N, anchors, 4]`` and
    ``cls_logits float32[N, anchors, 91]``; 300 pixels give 1917 anchors."""
    g = Graph("ssd_mobilenet", rng)
    x = g.input("input", ["N", 3, size, size])
    x = _relu6(g, "backbone.0", g.conv("backbone.0.0", x, (3, 32), 3, stride=2))
    width = 32
    seen: list[tuple[str, int]] = []
    for layer, (channels, stride) in enumerate(_SEPARABLE):
        x = _separable(g, f"backbone.{layer + 1}", x, (width, channels), stride)
        width = channels
        if layer in {_FINEST, len(_SEPARABLE) - 1}:
            seen.append((x, width))
    for layer, channels in enumerate((512, 256, 256, 128)):
        scope = f"extra.{layer}"
        inner = g.conv(f"{scope}.0", x, (width, channels // 2))
        inner = _relu6(g, f"{scope}.1", inner)
        x = g.conv(f"{scope}.2", inner, (channels // 2, channels), 3, stride=2)
        x = _relu6(g, f"{scope}.3", x)
        width = channels
        seen.append((x, width))
    anchors = sum(count * side**2 for count, side in zip(ANCHORS, _sides(size), strict=True))
    for name, values in (("bbox_regression", 4), ("cls_logits", DETECTED)):
        _heads(g, name, seen, values)
        g.output(name, ["N", anchors, values])
    return g.model()


def _sides(size: int) -> list[int]:
    """Cells along one side of each of the detector's six scales."""
    sides = [size]
    for _ in range(9):
        sides.append(-(-sides[-1] // 2))
    return sides[4:10]


def _heads(g: Graph, name: str, seen: Sequence[tuple[str, int]], values: int) -> None:
    """Predict ``values`` numbers per anchor at every scale, and concatenate all anchors."""
    parts = []
    for scale, ((x, width), anchors) in enumerate(zip(seen, ANCHORS, strict=True)):
        scope = f"head.{name}.{scale}"
        predicted = g.conv(scope, x, (width, anchors * values))
        last = g.op("Transpose", scope, predicted, perm=[0, 2, 3, 1])
        shape = g.constant(f"{scope}.shape", [0, -1, values], np.int64)
        parts.append(g.op("Reshape", scope, last, shape))
    g.op("Concat", f"head.{name}", *parts, out=name, axis=1)


def _basic_block(g: Graph, scope: str, x: str, channels: tuple[int, int], stride: int) -> str:
    inner = g.conv(f"{scope}.conv1", x, channels, 3, stride=stride)
    inner = g.op("Relu", f"{scope}.relu", inner)
    inner = g.conv(f"{scope}.conv2", inner, (channels[1], channels[1]), 3)
    if stride != 1 or channels[0] != channels[1]:
        x = g.conv(f"{scope}.downsample.0", x, channels, stride=stride)
    return g.op("Relu", f"{scope}.relu", g.op("Add", scope, inner, x))


def _inverted_block(
    g: Graph, scope: str, x: str, channels: tuple[int, int], stride: int, expansion: int
) -> str:
    inside = channels[0] * expansion
    inner = x
    if expansion > 1:
        inner = g.conv(f"{scope}.conv.expand", inner, (channels[0], inside))
        inner = _relu6(g, f"{scope}.conv.expand", inner)
    depthwise = f"{scope}.conv.depthwise"
    inner = g.conv(depthwise, inner, (inside, inside), 3, stride=stride, group=inside)
    inner = g.conv(f"{scope}.conv.project", _relu6(g, depthwise, inner), (inside, channels[1]))
    return g.op("Add", scope, x, inner) if stride == 1 and channels[0] == channels[1] else inner


def _separable(g: Graph, scope: str, x: str, channels: tuple[int, int], stride: int) -> str:
    inside = channels[0]
    x = g.conv(f"{scope}.0", x, (inside, inside), 3, stride=stride, group=inside)
    return _relu6(g, f"{scope}.1", g.conv(f"{scope}.1", _relu6(g, f"{scope}.0", x), channels))


def _relu6(g: Graph, scope: str, x: str) -> str:
    low = g.constant(f"{scope}.relu6.low", 0.0)
    return g.op("Clip", scope, x, low, g.constant(f"{scope}.relu6.high", 6.0))


def _classifier(g: Graph, x: str, width: int, scope: str) -> onnx.ModelProto:
    flat = g.op("Flatten", "flatten", g.op("GlobalAveragePool", "avgpool", x), axis=1)
    g.gemm(scope, flat, (width, CLASSES), out=g.output("logits", ["N", CLASSES]))
    return g.model()
