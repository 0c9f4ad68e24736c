"""ConvNeXt (Liu et al. 2022, arXiv:2201.03545) in two forms that compute the same.

``exported`` is what exporters write for the authors' code: the dense layers of a block work on
``[N, H, W, C]``, between two transpositions. ``channels_first`` writes them as convolutions of one
pixel on ``[N, C, H, W]``, with the normalisation over the second axis. The case study of the manual
compares both as two revisions of one model.
"""

import math
from typing import Literal

import numpy as np
import onnx

from examples.models.graph import Graph

Form = Literal["exported", "channels_first"]

#: Channels and blocks of each stage: half the width of ConvNeXt-Atto.
STAGES = ((20, 2), (40, 2), (80, 6), (160, 2))
CLASSES = 1000
_EPSILON = 1e-6
#: Weight of a block's result when training begins is 1e-6; after it, about this.
_LAYER_SCALE = 0.3


def convnext(rng: np.random.Generator, size: int = 224, form: Form = "exported") -> onnx.ModelProto:
    """``input float32[N, 3, size, size]`` to ``logits float32[N, 1000]``.

    The weights drawn from ``rng`` are the same in both forms.
    """
    g = Graph(f"convnext_{form}", rng)
    x = g.input("input", ["N", 3, size, size])
    width = STAGES[0][0]
    x = _patches(g, "stem.0", x, (3, width), 4)
    x = _norm(g, "stem.1", x, width, axis=1)
    for stage, (channels, blocks) in enumerate(STAGES):
        if stage:
            scope = f"stages.{stage}.downsample"
            x = _norm(g, f"{scope}.0", x, width, axis=1)
            x = _patches(g, f"{scope}.1", x, (width, channels), 2)
        width = channels
        for block in range(blocks):
            x = _block(g, f"stages.{stage}.blocks.{block}", x, width, form)
    x = g.op("ReduceMean", "head.pool", x, axes=[2, 3], keepdims=0)
    x = g.layer_norm("head.norm", x, width)
    g.gemm("head.fc", x, (width, CLASSES), out=g.output("logits", ["N", CLASSES]))
    return g.model()


def _patches(g: Graph, scope: str, x: str, channels: tuple[int, int], size: int) -> str:
    """Non-overlapping patches, each a vector."""
    return g.conv(scope, x, channels, size, stride=size, pad=0)


def _block(g: Graph, scope: str, x: str, width: int, form: Form) -> str:
    inner = g.conv(f"{scope}.conv_dw", x, (width, width), 7, group=width)
    if form == "exported":
        inner = g.op("Transpose", scope, inner, perm=[0, 2, 3, 1])
    inner = _norm(g, f"{scope}.norm", inner, width, axis=3 if form == "exported" else 1)
    inner = _dense(g, f"{scope}.mlp.fc1", inner, (width, 4 * width), form)
    inner = _gelu(g, f"{scope}.mlp.act", inner)
    inner = _dense(g, f"{scope}.mlp.fc2", inner, (4 * width, width), form)
    scale = g.constant(f"{scope}.gamma", np.full(_spread(width, form), _LAYER_SCALE))
    inner = g.op("Mul", scope, inner, scale)
    if form == "exported":
        inner = g.op("Transpose", scope, inner, perm=[0, 3, 1, 2])
    return g.op("Add", scope, inner, x)


def _spread(width: int, form: Form) -> tuple[int, ...]:
    """Shape of a vector of one value a channel, as it meets the values of a block."""
    return (width,) if form == "exported" else (width, 1, 1)


def _dense(g: Graph, scope: str, x: str, sizes: tuple[int, int], form: Form) -> str:
    weight = g.draw((sizes[0], sizes[1]), math.sqrt(1.0 / sizes[0]))
    if form == "exported":
        name = g.constant(f"{scope}.weight", weight)
        bias = g.constant(f"{scope}.bias", np.zeros(sizes[1]))
        return g.op("Add", scope, bias, g.op("MatMul", scope, x, name))
    name = g.constant(f"{scope}.weight", weight.T[:, :, None, None])
    bias = g.constant(f"{scope}.bias", np.zeros(sizes[1]))
    return g.op("Conv", scope, x, name, bias, kernel_shape=[1, 1], strides=[1, 1])


def _norm(g: Graph, scope: str, x: str, width: int, *, axis: int) -> str:
    """Layer normalisation over ``axis``, in the single operators of the authors' code."""
    shape = (width,) if axis == 3 else (width, 1, 1)
    centred = g.op("Sub", scope, x, g.op("ReduceMean", scope, x, axes=[axis]))
    power = g.op("Pow", scope, centred, g.constant(f"{scope}.two", 2.0))
    variance = g.op("ReduceMean", scope, power, axes=[axis])
    variance = g.op("Add", scope, variance, g.constant(f"{scope}.epsilon", _EPSILON))
    normal = g.op("Div", scope, centred, g.op("Sqrt", scope, variance))
    gain = g.constant(f"{scope}.weight", g.draw((width,), 0.1, 1.0).reshape(shape))
    shift = g.constant(f"{scope}.bias", g.draw((width,), 0.1).reshape(shape))
    return g.op("Add", scope, g.op("Mul", scope, normal, gain), shift)


def _gelu(g: Graph, scope: str, x: str) -> str:
    root = g.constant(f"{scope}.root", math.sqrt(2.0))
    one, half = g.constant(f"{scope}.one", 1.0), g.constant(f"{scope}.half", 0.5)
    erf = g.op("Erf", scope, g.op("Div", scope, x, root))
    product = g.op("Mul", scope, x, g.op("Add", scope, erf, one))
    return g.op("Mul", scope, product, half)
