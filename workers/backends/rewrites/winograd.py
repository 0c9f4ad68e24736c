"""Computes 3x3 convolutions by Winograd's minimal filtering, where that is faster
(:mod:`workers.backends.rewrites.filtering`)::

    Conv   ─▶   tiles ─ MatMul Bᵀ⊗Bᵀ ─ Split ─ MatMul for each component ─ Concat ─ MatMul Aᵀ⊗Aᵀ
                ─ image ─ Add bias

Channels are the last axis in between. Tiles are so cut and joined in long runs, and each component
is a matrix [tiles, channels], whose constant factor the runtime packs when it loads the network. A
tile consists of a block of m x m pixels and of the first two rows and columns of the next blocks.

Weights grow to 16/9 (F(2, 3)) or 4 times (F(4, 3)) their bytes.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from workers.backends.rewrites.filtering import DenseConvolution, FilteringAlgorithm
from workers.backends.rewrites.graph import EditableGraph, NodeBuilder, attribute
from workers.engine.ports import Array

_CHANNELS_LAST = [0, 2, 3, 1]
_CHANNELS_FIRST = [0, 3, 1, 2]


@dataclass(frozen=True)
class WinogradPlan:
    """A convolution to rewrite: ``float32[outputs, inputs, 3, 3]`` weights, and the rows and
    columns of its image and of the zeros before it."""

    weights: Array
    convolution: DenseConvolution
    algorithm: FilteringAlgorithm
    image: tuple[int, int]
    before: tuple[int, int]

    @property
    def added_bytes(self) -> int:
        bytes_of_one: int = self.weights.nbytes // 9
        return bytes_of_one * (self.algorithm.components - 9)

    @property
    def tiles(self) -> tuple[int, int]:
        return self.convolution.tiles(self.algorithm)

    def nodes(self, graph: EditableGraph, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The nodes that compute the result of ``node``."""
        new = NodeBuilder(graph, node.output[0])
        tiles = _transformed_tiles(new, node.input[0], self)
        image = _image(new, _products(new, tiles, self), self)
        if len(node.input) > 2 and node.input[2]:
            image = new.add("Add", [image, node.input[2]])
        new.add("Transpose", [image], result=node.output[0], perm=_CHANNELS_FIRST)
        return new.nodes


def winograd_plan(graph: EditableGraph, node: onnx.NodeProto) -> WinogradPlan | None:
    """How to rewrite a ``Conv``; ``None`` if it would not become faster."""
    weights, source = graph.constant(node.input[1]), graph.shape(node.input[0])
    before, result = _zeros_before(node), graph.shape(node.output[0])
    if weights is None or source is None or result is None or before is None:
        return None
    if not _is_dense(node, weights) or len(source) != 4 or len(result) != 4:
        return None
    sizes = [size for size in (*source[2:], *result[2:]) if isinstance(size, int)]
    if len(sizes) != 4:
        return None
    convolution = DenseConvolution(weights.shape[1], weights.shape[0], sizes[2], sizes[3])
    algorithm = convolution.algorithm()
    if algorithm is None:
        return None
    return WinogradPlan(weights, convolution, algorithm, (sizes[0], sizes[1]), before)


def _is_dense(node: onnx.NodeProto, weights: Array) -> bool:
    return (
        weights.dtype == np.float32
        and weights.shape[2:] == (3, 3)
        and attribute(node, "group", 1) == 1
        and set(attribute(node, "strides", [1])) == {1}
        and set(attribute(node, "dilations", [1])) == {1}
    )


def _zeros_before(node: onnx.NodeProto) -> tuple[int, int] | None:
    """Rows of zeros above an image and columns left of it; ``None`` if some are cut off."""
    padding = attribute(node, "auto_pad", "NOTSET")
    if padding != "NOTSET":
        return (1, 1) if padding.startswith("SAME") else (0, 0)
    pads = attribute(node, "pads", [0, 0, 0, 0])
    return (pads[0], pads[1]) if len(pads) == 4 and min(pads) >= 0 else None


def _transformed_tiles(new: NodeBuilder, source: str, plan: WinogradPlan) -> str:
    """``float32[N, components, tiles, inputs]`` of ``float32[N, inputs, rows, columns]``."""
    (rows, columns), size = plan.tiles, plan.algorithm.tile
    channels, overlap = plan.convolution.inputs, 2
    # One block more than tiles, for the overlap of the last ones.
    after = [
        (number + 1) * size - length - zeros
        for number, length, zeros in zip(plan.tiles, plan.image, plan.before, strict=True)
    ]
    pixels = new.add("Transpose", [source], perm=_CHANNELS_LAST)
    pads = new.constant([0, *plan.before, 0, 0, *after, 0])
    padded = new.add("Pad", [pixels, pads])
    parted = new.reshape(padded, [0, rows + 1, size, columns + 1, size, channels])
    blocks = new.add("Transpose", [parted], perm=[0, 2, 4, 1, 3, 5])
    places = np.arange(plan.algorithm.components).reshape(size + overlap, size + overlap)
    parts, order = [], []
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        high, wide = overlap if down else size, overlap if right else size
        ends = [high, wide, rows + down, columns + right]
        part = new.slice(blocks, [0, 0, down, right], ends, [1, 2, 3, 4])
        parts.append(new.reshape(part, [0, high * wide, rows * columns * channels]))
        order += places[down * size :, right * size :][:high, :wide].ravel().tolist()
    tiles = new.add("Concat", parts, axis=1)
    transform = np.kron(plan.algorithm.inputs, plan.algorithm.inputs)[:, order]
    transformed = new.add("MatMul", [new.constant(transform), tiles])
    return new.reshape(transformed, [0, plan.algorithm.components, rows * columns, channels])


def _products(new: NodeBuilder, tiles: str, plan: WinogradPlan) -> str:
    """``float32[N, components, tiles, outputs]``: each component times its weights."""
    transform, number = plan.algorithm.weights, plan.algorithm.components
    outputs, inputs = plan.weights.shape[:2]
    flat = plan.weights.reshape(-1, 9).astype(np.float64)
    weights = np.kron(transform, transform) @ flat.T
    matrices = weights.reshape(number, outputs, inputs).swapaxes(1, 2)
    parts = new.split(tiles, number, axis=1)
    products = [
        new.add("MatMul", [part, new.constant(matrix)])
        for part, matrix in zip(parts, matrices, strict=True)
    ]
    return new.add("Concat", products, axis=1)


def _image(new: NodeBuilder, products: str, plan: WinogradPlan) -> str:
    """``float32[N, rows, columns, outputs]``: tiles, transformed and joined."""
    (rows, columns), size = plan.tiles, plan.algorithm.tile
    channels, shape = plan.convolution.outputs, [plan.convolution.rows, plan.convolution.columns]
    flat = new.reshape(products, [0, plan.algorithm.components, rows * columns * channels])
    transform = new.constant(np.kron(plan.algorithm.outputs, plan.algorithm.outputs))
    transformed = new.add("MatMul", [transform, flat])
    blocks = new.reshape(transformed, [0, size, size, rows, columns, channels])
    parted = new.add("Transpose", [blocks], perm=[0, 3, 1, 4, 2, 5])
    image = new.reshape(parted, [0, rows * size, columns * size, channels])
    if shape == [rows * size, columns * size]:
        return image
    return new.slice(image, [0, 0], shape, [1, 2])
