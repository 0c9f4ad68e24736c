"""Fuses attention into one operator (``com.microsoft.MultiHeadAttention``).

ONNX Runtime's optimiser does not recognise attention as exporters write it
(:mod:`workers.backends.rewrites.attentionparts`). The fused kernel keeps a head's scores in the
cache. It takes queries as [batch, length, heads * size], and keys and values in the same way or as
[batch, heads, length, size]. For few positions it gains nothing: attention in windows is faster as
products.
"""

from typing import Any

import numpy as np
from onnx import helper

from workers.backends.rewrites.attentionmasks import Masks
from workers.backends.rewrites.attentionparts import HEADS_FIRST, Attention, Operand, recognise
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.solving import solve_sizes

#: Positions of keys below which attention is not fused, if their number is known (ADR 81).
_FEWEST_KEYS = 128


def fuse_attention(graph: EditableGraph) -> int:
    """Fuse each attention of a known number of heads, unless its keys are known to be few; returns
    how many there are."""
    softmaxes = [node for node in graph.nodes if node.op_type == "Softmax"]
    sizes = solve_sizes(graph) if softmaxes else {}
    masks = Masks(graph)
    count = 0
    for softmax in softmaxes:
        attention = recognise(graph, softmax)
        if attention is None or _is_short(graph, attention):
            continue
        heads = _heads(graph, attention, sizes)
        if heads is not None:
            _replace(graph, attention, heads, masks)
            count += 1
    if count:
        graph.remove_unused()
    return count


def _is_short(graph: EditableGraph, attention: Attention) -> bool:
    lengths = [attention.keys.shape[2], *(graph.shape(attention.scores) or ())[-1:]]
    return any(isinstance(length, int) and length < _FEWEST_KEYS for length in lengths)


def _heads(graph: EditableGraph, attention: Attention, sizes: dict[str, int]) -> int | None:
    """The number of heads; ``None`` if it is unknown, or the operator would have to repeat keys or
    values, or their size differs where it must not."""
    operands = (attention.queries, attention.keys, attention.values)
    others = [graph.shape(name) for name in (attention.scores, attention.product.output[0])]
    shapes = [each.shape for each in operands]
    whole_shapes = [
        [sizes.get(size, size) if isinstance(size, str) else size for size in shape or ()]
        for shape in (*shapes, *others)
    ]
    numbers = {shape[1] for shape in whole_shapes if len(shape) > 1 and isinstance(shape[1], int)}
    batches = {shape[0] for shape in whole_shapes[:3]}
    repeats = any(isinstance(size, int) for size in batches) and len(batches) > 1
    if len(numbers) != 1 or repeats:
        return None
    if not _as_rows(attention) and whole_shapes[1][3] != whole_shapes[2][3]:
        return None
    return int(numbers.pop())


def _as_rows(attention: Attention) -> bool:
    """Whether keys and values are given as [batch, length, heads * size]."""
    return bool(attention.keys.rows and attention.values.rows)


def _replace(graph: EditableGraph, attention: Attention, heads: int, masks: Masks) -> None:
    """Compute the transposed result of an attention by one operator."""
    product = attention.product
    output = product.output[0]
    mask = masks.of(attention)
    nodes = masks.take()

    def add(kind: str, inputs: list[str], **attributes: Any) -> str:
        name = graph.fresh(output)
        nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    joined = graph.add_constant(output, np.array([0, 0, -1], np.int64))

    def rows(operand: Operand) -> str:
        split = operand.rows or add("Transpose", [operand.heads], perm=HEADS_FIRST)
        return add("Reshape", [split, joined])

    def deep(operand: Operand) -> str:
        return operand.heads or add("Transpose", [operand.rows], perm=HEADS_FIRST)

    form = rows if _as_rows(attention) else deep
    operands = [rows(attention.queries), form(attention.keys), form(attention.values)]
    operands += ["", "", mask.bias] if mask else []
    fused = add(
        "MultiHeadAttention",
        operands,
        domain="com.microsoft",
        num_heads=heads,
        scale=attention.scale,
    )
    split = graph.add_constant(output, np.array([0, 0, heads, -1], np.int64))
    result = add("Reshape", [fused, split])
    if mask and mask.shown:
        result = add("Mul", [result, mask.shown])
    # Its sizes may be read. Where nothing reads it, the node is removed.
    nodes.append(
        helper.make_node(
            "Transpose", [result], list(product.output), product.name, perm=HEADS_FIRST
        )
    )
    graph.replace([product], nodes)
    if last := attention.result:
        copy = helper.make_node("Identity", [result], list(last.output), last.name)
        graph.replace([last], [copy])
