"""Computes convolutions of sequences with long kernels by discrete Fourier transforms
(:mod:`workers.backends.rewrites.overlap`)::

    Conv   ─▶   windows ─ MatMul F ─ Split ─ MatMul for each frequency ─ Concat ─ MatMul F⁻¹
                ─ sequence ─ Add bias

Both transforms are products with constants, which for so few values are faster than the operator
``DFT``. Channels are the last axis in between, so that each frequency is a matrix
``[windows, channels]`` whose constant factor the runtime packs when it loads the network.

Weights grow to 2 T / kernel times their bytes for windows of T values. NaN and infinity spread to
all results of a window.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph, NodeBuilder, attribute
from workers.backends.rewrites.overlap import (
    USUAL_LENGTH,
    SequenceConvolution,
    inverse,
    spectrum,
    transform,
)
from workers.engine.ports import Array

_SWAPPED = [0, 2, 1]


@dataclass(frozen=True)
class FourierPlan:
    """A convolution to rewrite: ``float32[outputs, inputs, kernel]`` weights, the zeros before and
    behind the sequence, and the values of a window."""

    weights: Array
    convolution: SequenceConvolution
    pads: tuple[int, int]
    window: int

    @property
    def results(self) -> int:
        """Results of a window."""
        return self.window - self.convolution.kernel + 1

    @property
    def added_bytes(self) -> int:
        bytes_of_one: int = self.weights.nbytes // self.convolution.kernel
        return bytes_of_one * (2 * self.window - self.convolution.kernel)

    def nodes(self, graph: EditableGraph, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes that compute the result of ``node``."""
        new = NodeBuilder(graph, node.output[0])
        windows, length = _windows(new, node.input[0], self)
        spectra = new.add("MatMul", [new.constant(transform(self.window)), windows])
        products = _products(new, spectra, self)
        results = new.add("MatMul", [new.constant(inverse(self.window)[: self.results]), products])
        in_order = new.add("Transpose", [results], perm=[0, 1, 3, 2, 4])
        sequence = new.reshape(in_order, [0, -1, self.convolution.outputs])
        end = new.reshape(length, [1])
        sequence = new.add("Slice", [sequence, new.constant([0]), end, new.constant([1])])
        if len(node.input) > 2 and node.input[2]:
            sequence = new.add("Add", [sequence, node.input[2]])
        new.add("Transpose", [sequence], result=node.output[0], perm=_SWAPPED)
        return new.nodes


def fourier_plan(graph: EditableGraph, node: onnx.NodeProto) -> FourierPlan | None:
    """How to rewrite a ``Conv``; ``None`` if it would not become faster."""
    weights = graph.constant(node.input[1])
    if weights is None or weights.ndim != 3 or weights.dtype != np.float32:
        return None
    if attribute(node, "group", 1) != 1 or attribute(node, "strides", [1]) != [1]:
        return None
    outputs, inputs, kernel = weights.shape
    dilation = attribute(node, "dilations", [1])[0]
    pads = _pads(node, dilation * (kernel - 1))
    result = graph.shape(node.output[0])
    length = result[2] if result is not None and isinstance(result[2], int) else USUAL_LENGTH
    convolution = SequenceConvolution(inputs, outputs, kernel, dilation, length)
    window = convolution.window()
    return FourierPlan(weights, convolution, pads, window) if pads and window else None


def _pads(node: onnx.NodeProto, span: int) -> tuple[int, int] | None:
    """Zeros before and behind a sequence; ``None`` if values are cut off."""
    padding = attribute(node, "auto_pad", "NOTSET")
    if padding == "NOTSET":
        before, after = attribute(node, "pads", [0, 0])
        return (before, after) if min(before, after) >= 0 else None
    if padding == "VALID":
        return (0, 0)
    less, more = span // 2, span - span // 2
    return (less, more) if padding == "SAME_UPPER" else (more, less)


def _windows(new: NodeBuilder, source: str, plan: FourierPlan) -> tuple[str, str]:
    """``float32[N, windows, phases, T, inputs]`` of ``float32[N, inputs, length]``, and the number
    of results of the convolution. Lengths are computed, since they may vary."""
    dilation, kernel = plan.convolution.dilation, plan.convolution.kernel
    step, (before, after) = plan.results * dilation, plan.pads
    channels_last = new.add("Transpose", [source], perm=_SWAPPED)
    # Whatever the length, so many more zeros complete the last window.
    pads = new.constant([0, before, 0, 0, after + step - 1, 0])
    padded = new.add("Pad", [channels_last, pads])
    size = new.add("Gather", [new.add("Shape", [padded]), new.constant(1)])
    length = new.add("Sub", [size, new.constant(step - 1 + dilation * (kernel - 1))])
    starts = new.add("Range", [new.constant(0), length, new.constant(step)])
    phases, values = np.arange(dilation), dilation * np.arange(plan.window)
    column = new.reshape(starts, [-1, 1, 1])
    places = new.add("Add", [column, new.constant(phases[:, None] + values)])
    return new.add("Gather", [padded, places], axis=1), length


def _products(new: NodeBuilder, spectra: str, plan: FourierPlan) -> str:
    """``float32[N, windows, phases, T, outputs]``: each frequency times its weights."""
    convolution, number = plan.convolution, plan.window // 2
    frequencies = new.reshape(spectra, [0, 0, 0, number, 2 * convolution.inputs])
    parts = new.split(frequencies, number, axis=3)
    products = [
        new.add("MatMul", [part, new.constant(block)])
        for part, block in zip(parts, spectrum(plan.weights, plan.window), strict=True)
    ]
    joined = new.add("Concat", products, axis=3)
    return new.reshape(joined, [0, 0, 0, plan.window, convolution.outputs])
