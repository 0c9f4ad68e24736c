"""Recognises attention: products around a softmax, as exporters write them.

::

    queries ─ (Mul) ───────────────────┐
                                       MatMul ─ (Mul) ─ (Add bias)... ─ Softmax ─ (0 for NaN) ─┐
    keys ─ (Mul) ─ Transpose ─ (Mul) ──┘                                                       │
    values ─────────────────────────────────────────────────────────────────────────────── MatMul
                                                                                               │
                                                             result ─ Transpose ─ (Reshape) ───┘

Queries, keys and values are [batch, heads, length, size]. Usually they are transpositions of
[batch, length, heads, size]; where positions are rotated or keys shared by several heads, they are
not.
"""

from dataclasses import dataclass

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph, attribute

#: From [batch, length, heads, size] to [batch, heads, length, size], and back.
HEADS_FIRST = [0, 2, 1, 3]
#: From [batch, length, heads, size], with keys as columns.
_COLUMNS = [0, 2, 3, 1]
_RANK = 4


@dataclass(frozen=True)
class Operand:
    """Queries, keys or values.

    Attributes:
        rows: Name of the value [batch, length, heads, size]; empty if there is none.
        heads: Name of the value [batch, heads, length, size]; empty if there is none.
        shape: Batch, heads, length and size.
    """

    rows: str
    heads: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Attention:
    """One attention.

    Attributes:
        scale: Factor of the product of queries and keys.
        biases: Names of what is added to it, of at most four axes.
        is_guarded: Whether NaN behind the softmax is replaced by zero.
        scores: Name of the softmax's input.
        product: The product of weights and values.
        result: The transposition of that product to [batch, length, heads, size], if there is one.
    """

    queries: Operand
    keys: Operand
    values: Operand
    scale: float
    biases: tuple[str, ...]
    is_guarded: bool
    scores: str
    product: onnx.NodeProto
    result: onnx.NodeProto | None


@dataclass(frozen=True)
class _Scores:
    left: str
    right: str
    scale: float = 1.0
    biases: tuple[str, ...] = ()


def recognise(graph: EditableGraph, softmax: onnx.NodeProto) -> Attention | None:
    """The attention of a softmax; ``None`` if it is none, or one of another form."""
    if attribute(softmax, "axis", -1) not in {-1, _RANK - 1}:
        return None
    scores = _scores(graph, softmax.input[0])
    weights, is_guarded = _weights(graph, softmax.output[0])
    product = graph.only_consumer(weights)
    if scores is None or product is None or product.op_type != "MatMul":
        return None
    left, left_scale = _unscaled(graph, scores.left)
    queries = _operand(graph, left)
    keys, right_scale = _keys(graph, scores.right)
    values = _operand(graph, product.input[1])
    if product.input[0] != weights or queries is None or keys is None or values is None:
        return None
    if not _fits(graph, scores.biases):
        return None
    return Attention(
        queries,
        keys,
        values,
        scores.scale * left_scale * right_scale,
        scores.biases,
        is_guarded,
        softmax.input[0],
        product,
        _result(graph, product, queries),
    )


def _scores(graph: EditableGraph, name: str) -> _Scores | None:
    """The product behind factors and sums."""
    name, scale = _unscaled(graph, name)
    node = graph.producers.get(name)
    if node is None:
        return None
    if node.op_type == "MatMul":
        return _Scores(node.input[0], node.input[1], scale)
    # A factor behind the sum would scale the bias as well.
    if node.op_type != "Add" or scale != 1:
        return None
    for number in (0, 1):
        inner = _scores(graph, node.input[number])
        # A bias may be a product, too: that of queries and keys has columns of the same length.
        if inner is not None and _keys(graph, inner.right)[0] is not None:
            biases = (*inner.biases, node.input[1 - number])
            return _Scores(inner.left, inner.right, inner.scale, biases)
    return None


def _fits(graph: EditableGraph, biases: tuple[str, ...]) -> bool:
    shapes = [graph.shape(name) for name in biases]
    return all(shape is not None and 0 < len(shape) <= _RANK for shape in shapes)


def _operand(graph: EditableGraph, name: str) -> Operand | None:
    shape = graph.shape(name)
    if shape is None or len(shape) != _RANK:
        return None
    return Operand(transposed(graph, name, HEADS_FIRST) or "", name, shape)


def _keys(graph: EditableGraph, name: str) -> tuple[Operand | None, float]:
    """Keys before their transposition to columns, and their factor."""
    shape = graph.shape(name)
    name, scale = _unscaled(graph, name)
    if shape is None or len(shape) != _RANK:
        return None, scale
    if rows := transposed(graph, name, _COLUMNS):
        return Operand(rows, "", (shape[0], shape[1], shape[3], shape[2])), scale
    if heads := transposed(graph, name, [0, 1, 3, 2]):
        heads, factor = _unscaled(graph, heads)
        return _operand(graph, heads), scale * factor
    # PyTorch's newer exporter transposes matrices [batch * heads, length, size].
    columns = _reshaped(graph, name)
    matrices = columns and transposed(graph, columns, [0, 2, 1])
    heads = matrices and _reshaped(graph, matrices)
    return (_operand(graph, heads) if heads else None), scale


def _weights(graph: EditableGraph, name: str) -> tuple[str, bool]:
    """The weights that multiply the values, and whether NaN was replaced by zero."""
    consumers = [node for node in graph.consumers[name] if node is not None]
    kinds = {node.op_type: node for node in consumers}
    if len(graph.consumers[name]) != 2 or kinds.keys() != {"IsNaN", "Where"}:
        return name, False
    choice = kinds["Where"]
    zero = graph.constant(choice.input[1])
    is_zero = zero is not None and not np.any(zero)
    if choice.input[0] != kinds["IsNaN"].output[0] or choice.input[2] != name or not is_zero:
        return name, False
    return choice.output[0], True


def _result(
    graph: EditableGraph, product: onnx.NodeProto, queries: Operand
) -> onnx.NodeProto | None:
    """The transposition of a product of weights and values to [batch, length, heads, size]."""
    name = product.output[0]
    # PyTorch's older exporter reads its sizes, and gives it the shape that it has.
    used = [node for node in graph.consumers[name] if node is None or node.op_type != "Shape"]
    node = used[0] if len(used) == 1 else None
    if node is not None and node.op_type == "Reshape":
        is_same = _keeps_shape(graph, node, queries)
        node = graph.only_consumer(node.output[0]) if is_same else None
    if node is None or node.op_type != "Transpose":
        return None
    return node if list(attribute(node, "perm", [])) == HEADS_FIRST else None


def _keeps_shape(graph: EditableGraph, node: onnx.NodeProto, queries: Operand) -> bool:
    """Whether a ``Reshape`` of a product of weights and values has no effect. If three sizes are
    equal, so is the fourth."""
    before, after = graph.shape(node.input[0]), graph.shape(node.output[0])
    if before is None or after is None or len(before) != _RANK or len(after) != _RANK:
        return False
    # Batch, heads and length are those of the queries.
    equal = [
        new in {old, same} for new, old, same in zip(after, before, queries.shape, strict=True)
    ]
    equal[3] = after[3] == before[3]
    return sum(equal) >= _RANK - 1


def transposed(graph: EditableGraph, name: str, order: list[int]) -> str | None:
    """What a ``Transpose`` with this order makes a value of."""
    node = graph.producers.get(name)
    if node is None or node.op_type != "Transpose" or list(attribute(node, "perm", [])) != order:
        return None
    source: str = node.input[0]
    return source


def _reshaped(graph: EditableGraph, name: str) -> str | None:
    """What a ``Reshape`` makes a value of."""
    node = graph.producers.get(name)
    return node.input[0] if node is not None and node.op_type == "Reshape" else None


def _unscaled(graph: EditableGraph, name: str) -> tuple[str, float]:
    """A value without its multiplication by, or division by, a constant; and the factor."""
    node = graph.producers.get(name)
    if node is None or node.op_type not in {"Mul", "Div"}:
        return name, 1.0
    for position in (1, 0) if node.op_type == "Mul" else (1,):
        factor = graph.constant(node.input[position])
        if factor is not None and factor.size == 1 and factor.item() != 0:
            value = float(factor.item())
            return node.input[1 - position], value if node.op_type == "Mul" else 1 / value
    return name, 1.0
