"""Fuses attention into one operator (``com.microsoft.MultiHeadAttention``).

Exporters write attention as products around a softmax, with transpositions of its operands::

    q ─ Reshape ─ Transpose ─┐
                             MatMul ─ (Mul) ─ (Add mask) ─ Softmax ─ (zeros for NaN) ─┐
    k ─ Reshape ─ Transpose ─┘                                                        MatMul
    v ─ Reshape ─ Transpose ──────────────────────────────────────────────────────────┘

ONNX Runtime's optimiser does not recognise these forms. The fused kernel keeps a head's scores in
the cache. PyTorch replaces NaN behind the softmax by zero, because a row whose positions are all
masked is 0 / 0; behind the fused operator such rows are replaced by zero where there is a mask.
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.graph import EditableGraph, attribute

#: From [batch, length, heads, size] to [batch, heads, length, size], and back.
_HEADS_FIRST = [0, 2, 1, 3]
#: The same, with keys as columns.
_COLUMNS = [0, 2, 3, 1]


@dataclass(frozen=True)
class _Scores:
    """The product of queries and keys: both as [batch, length, heads, size], the factor of their
    product, and the name of what is added (empty: nothing)."""

    queries: str
    keys: str
    scale: float
    mask: str


def fuse_attention(graph: EditableGraph) -> int:
    """Fuse each attention of a known number of heads; returns their number."""
    softmaxes = [node for node in graph.nodes if node.op_type == "Softmax"]
    count = sum(_fuse(graph, node) for node in softmaxes)
    if count:
        graph.remove_unused()
    return count


def _fuse(graph: EditableGraph, softmax: onnx.NodeProto) -> bool:
    if attribute(softmax, "axis", -1) not in {-1, 3}:
        return False
    scores = _scores(graph, softmax.input[0])
    weights, is_guarded = _weights(graph, softmax.output[0])
    product = graph.only_consumer(weights)
    if scores is None or product is None or product.op_type != "MatMul":
        return False
    values = _transposed(graph, product.input[1], _HEADS_FIRST)
    result = graph.only_consumer(product.output[0])
    heads = _heads(graph, scores.queries)
    if product.input[0] != weights or values is None or heads is None or result is None:
        return False
    if result.op_type != "Transpose" or list(attribute(result, "perm", [])) != _HEADS_FIRST:
        return False
    _replace(graph, result, scores, values, heads, is_guarded=is_guarded and bool(scores.mask))
    return True


def _replace(
    graph: EditableGraph,
    result: onnx.NodeProto,
    scores: _Scores,
    values: str,
    heads: tuple[int, int],
    *,
    is_guarded: bool,
) -> None:
    """Compute the transposed result of an attention by one operator."""
    output = result.output[0]
    number, size = heads
    joined = graph.add_constant(output, np.array([0, 0, number * size], np.int64))
    nodes, operands = [], []
    for name in (scores.queries, scores.keys, values):
        operands.append(graph.fresh(name))
        nodes.append(helper.make_node("Reshape", [name, joined], operands[-1:], operands[-1]))
    attended = graph.fresh(output)
    nodes.append(
        helper.make_node(
            "MultiHeadAttention",
            [*operands, "", "", scores.mask] if scores.mask else operands,
            [attended],
            attended,
            domain="com.microsoft",
            num_heads=number,
            scale=scores.scale,
        )
    )
    if is_guarded:
        missing, guarded = graph.fresh(output), graph.fresh(output)
        zero = graph.add_constant(output, np.array(0, np.float32))
        nodes.append(helper.make_node("IsNaN", [attended], [missing], missing))
        nodes.append(helper.make_node("Where", [missing, zero, attended], [guarded], guarded))
        attended = guarded
    split = graph.add_constant(output, np.array([0, 0, number, size], np.int64))
    nodes.append(helper.make_node("Reshape", [attended, split], [output], graph.fresh(output)))
    graph.replace([result], nodes)


def _scores(graph: EditableGraph, name: str) -> _Scores | None:
    name, scale = _unscaled(graph, name)
    mask, product = "", graph.producers.get(name)
    if product is not None and product.op_type == "Add":
        for number in (0, 1):
            factor_of, factor = _unscaled(graph, product.input[number])
            source = graph.producers.get(factor_of)
            if source is not None and source.op_type == "MatMul":
                # A factor behind the sum would scale the mask as well.
                if scale != 1 or not _is_mask(graph, product.input[1 - number]):
                    return None
                mask, scale, product = product.input[1 - number], factor, source
                break
    if product is None or product.op_type != "MatMul":
        return None
    left, left_scale = _unscaled(graph, product.input[0])
    queries = _transposed(graph, left, _HEADS_FIRST)
    keys, right_scale = _keys(graph, product.input[1])
    if queries is None or keys is None:
        return None
    return _Scores(queries, keys, scale * left_scale * right_scale, mask)


def _is_mask(graph: EditableGraph, name: str) -> bool:
    """Whether a value has the four axes that the operator demands. It does not broadcast along
    positions."""
    shape = graph.shape(name)
    return shape is not None and len(shape) == 4 and 1 not in shape[2:]


def _keys(graph: EditableGraph, name: str) -> tuple[str | None, float]:
    """Keys behind their transposition to columns, and their factor."""
    name, scale = _unscaled(graph, name)
    if direct := _transposed(graph, name, _COLUMNS):
        return direct, scale
    if rows := _transposed(graph, name, [0, 1, 3, 2]):
        rows, factor = _unscaled(graph, rows)
        return _transposed(graph, rows, _HEADS_FIRST), scale * factor
    # PyTorch's newer exporter transposes matrices [batch * heads, length, size].
    columns = _reshaped(graph, name)
    matrices = columns and _transposed(graph, columns, [0, 2, 1])
    heads = matrices and _reshaped(graph, matrices)
    return (_transposed(graph, heads, _HEADS_FIRST) if heads else None), scale


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


def _heads(graph: EditableGraph, name: str) -> tuple[int, int] | None:
    """Number and size of the heads of a value [batch, length, heads, size]."""
    shape = graph.shape(name)
    if shape is None or len(shape) != 4:
        return None
    number, size = shape[2], shape[3]
    if not isinstance(size, int) or size == 0:
        return None
    source = _reshaped(graph, name)
    width = (graph.shape(source) or ("",))[-1] if source else ""
    if not isinstance(number, int) and isinstance(width, int) and width % size == 0:
        number = width // size
    return (number, size) if isinstance(number, int) else None


def _reshaped(graph: EditableGraph, name: str) -> str | None:
    """What a ``Reshape`` makes a value of."""
    node = graph.producers.get(name)
    return node.input[0] if node is not None and node.op_type == "Reshape" else None


def _transposed(graph: EditableGraph, name: str, order: list[int]) -> str | None:
    """What a ``Transpose`` with this order makes a value of."""
    node = graph.producers.get(name)
    if node is None or node.op_type != "Transpose" or list(attribute(node, "perm", [])) != order:
        return None
    source: str = node.input[0]
    return source


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
