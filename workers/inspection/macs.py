"""Multiply-accumulates of one operator from the shapes of its tensors.

Shapes are ONNX's: data ``[N, C, spatial...]``, convolution weights ``[out, in / group,
kernel...]``, transposed ones ``[in, out / group, kernel...]``. The formulas count the operator's
definition in the ONNX specification, not cheaper algorithms (Winograd, FFT).
"""

import math
from collections.abc import Callable

from workers.inspection.flow import Flow, Shape, Step


class Open(Exception):
    """A size that determines the count is unknown."""


Formula = Callable[[Flow, Step], int]


def step_macs(flow: Flow, step: Step) -> int:
    """MACs of ``step`` itself, without its bodies. Raises Open if a size or the cost of the
    operator is unknown."""
    formula = FORMULAS.get(step.op)
    if formula is not None:
        return formula(flow, step)
    if step.op in OPEN:
        raise Open
    return 0


def sizes(flow: Flow, step: Step, index: int, *, output: bool = False) -> tuple[int, ...]:
    """Shape of an input (or output) of ``step``. Raises Open if a size is unknown."""
    values = step.outputs if output else step.inputs
    shape: Shape | None = flow.shape(values[index]) if index < len(values) else None
    if shape is None:
        raise Open
    sizes_known = tuple(size for size in shape if size is not None and size >= 0)
    if len(sizes_known) != len(shape):
        raise Open
    return sizes_known


def convolution(weight: int) -> Formula:
    """Each output element sums over the input channels of its group and the kernel.
    ``|output| * (in / group) * |kernel|``; ``weight`` is the index of the weight input."""

    def formula(flow: Flow, step: Step) -> int:
        out, kernel = sizes(flow, step, 0, output=True), sizes(flow, step, weight)
        return math.prod(out) * math.prod(kernel[1:])

    return formula


def transposed_convolution(flow: Flow, step: Step) -> int:
    """Each input element is spread over the output channels of its group and the kernel.
    ``|input| * (out / group) * |kernel|``."""
    return math.prod(sizes(flow, step, 0)) * math.prod(sizes(flow, step, 1)[1:])


def matrix_product(left: int) -> Formula:
    """``|output| * k``, with ``k`` the last dimension of the left factor at input ``left``. NumPy's
    rules: leading dimensions broadcast, vectors are rows or columns."""

    def formula(flow: Flow, step: Step) -> int:
        factor = sizes(flow, step, left)
        if not factor:
            raise Open
        return math.prod(sizes(flow, step, 0, output=True)) * factor[-1]

    return formula


def fused_matrix_product(flow: Flow, step: Step) -> int:
    """``com.microsoft::FusedMatMul``: a product whose left factor may come transposed."""
    factor = sizes(flow, step, 0)
    if len(factor) < 2 or step.number("transBatchA", 0):
        raise Open
    inner = factor[-2] if step.number("transA", 0) else factor[-1]
    return math.prod(sizes(flow, step, 0, output=True)) * inner


def general_product(left: int) -> Formula:
    """``m * n * k`` of ``Gemm``, whose left factor ``[m, k]`` may come transposed."""

    def formula(flow: Flow, step: Step) -> int:
        factor = sizes(flow, step, left)
        if len(factor) != 2:
            raise Open
        inner = factor[0] if step.number("transA", 0) else factor[1]
        return math.prod(sizes(flow, step, 0, output=True)) * inner

    return formula


def block_quantised_product(flow: Flow, step: Step) -> int:
    """``com.microsoft::MatMulNBits``: rows of the left factor times attributes ``K`` and ``N``."""
    inner, columns = step.number("K", 0), step.number("N", 0)
    if inner <= 0 or columns <= 0:
        raise Open
    return math.prod(sizes(flow, step, 0)[:-1]) * inner * columns


def recurrence(flow: Flow, step: Step) -> int:
    """``RNN``, ``GRU``, ``LSTM``: every weight of input and state is used once a step and sample.

    ``sequence * batch * (|W| + |R|)`` with ``W [directions, gates * hidden, input]`` and
    ``R [directions, gates * hidden, hidden]``; the product of the first two dimensions of ``X`` is
    the same in both layouts.
    """
    data = sizes(flow, step, 0)
    if len(data) != 3:
        raise Open
    return data[0] * data[1] * (math.prod(sizes(flow, step, 1)) + math.prod(sizes(flow, step, 2)))


def einstein_sum(flow: Flow, step: Step) -> int:
    """``Einsum`` of one or two operands: the product of all sizes that appear, once each. A single
    operand has no multiplications. For more than two, the count depends on the order."""
    if len(step.inputs) < 2:
        return 0
    terms = step.text("equation").replace(" ", "").split("->")[0].split(",")
    if len(step.inputs) > 2 or len(terms) != 2 or "." in "".join(terms):
        raise Open
    size_of: dict[str, int] = {}
    for i, term in enumerate(terms):
        shape = sizes(flow, step, i)
        if len(shape) != len(term):
            raise Open
        for letter, size in zip(term, shape, strict=True):
            size_of[letter] = max(size, size_of.get(letter, 1))
    return math.prod(size_of.values())


def attention(flow: Flow, step: Step) -> int:
    """``Attention`` of ONNX 23: scores ``Q K^T`` and their product with ``V``.

    ``batch * heads * q * kv * (d_qk + d_v)``, from ``[batch, heads, length, depth]`` or, with the
    heads folded into it, ``[batch, length, heads * depth]``; ``kv`` includes the past.
    """
    query, key, value = (sizes(flow, step, i) for i in range(3))
    cached = step.input(4) is not None
    cache = sizes(flow, step, 4) if cached else (0, 0, 0, 0)
    if not len(query) == len(key) == len(value) or len(cache) != 4:
        raise Open
    past = cache[2]
    if len(query) == 4:
        return query[0] * query[1] * query[2] * (key[2] + past) * (query[3] + value[3])
    if len(query) != 3:
        raise Open
    heads, kv_heads = step.number("q_num_heads", 1), step.number("kv_num_heads", 1)
    depth = value[2] // max(kv_heads, 1) * heads
    return query[0] * query[1] * (key[1] + past) * (query[2] + depth)


def packed_attention(flow: Flow, step: Step) -> int:
    """``com.microsoft::Attention``: one projection to Q, K and V, then scores and mixing.

    ``X [batch, length, hidden]``, ``W [hidden, projected]``:
    ``batch * length * |W| + 2 * batch * length^2 * projected / 3``. A past is open.
    """
    data, weight = sizes(flow, step, 0), sizes(flow, step, 1)
    if len(data) != 3 or len(weight) != 2 or step.input(4) is not None:
        raise Open
    batch, length, _ = data
    return batch * length * math.prod(weight) + 2 * batch * length * length * weight[1] // 3


def multi_head_attention(flow: Flow, step: Step) -> int:
    """``com.microsoft::MultiHeadAttention`` on separate ``[batch, length, hidden]`` tensors."""
    if len(step.inputs) < 3 or any(value is not None for value in step.inputs[6:8]):
        raise Open
    query, key, value = (sizes(flow, step, i) for i in range(3))
    if not len(query) == len(key) == len(value) == 3:
        raise Open
    return query[0] * query[1] * key[1] * (query[2] + value[2])


FORMULAS: dict[str, Formula] = {
    "Conv": convolution(1),
    "ConvInteger": convolution(1),
    "CausalConvWithState": convolution(1),
    "DeformConv": convolution(1),
    "QLinearConv": convolution(3),
    "com.microsoft::FusedConv": convolution(1),
    "com.microsoft::QLinearConv": convolution(3),
    "ConvTranspose": transposed_convolution,
    "Gemm": general_product(0),
    "com.microsoft::FusedGemm": general_product(0),
    "com.microsoft::QGemm": general_product(0),
    "MatMul": matrix_product(0),
    "MatMulInteger": matrix_product(0),
    "QLinearMatMul": matrix_product(0),
    "com.microsoft::DynamicQuantizeMatMul": matrix_product(0),
    "com.microsoft::MatMulIntegerToFloat": matrix_product(0),
    "com.microsoft::FusedMatMul": fused_matrix_product,
    "com.microsoft::MatMulNBits": block_quantised_product,
    "Einsum": einstein_sum,
    "RNN": recurrence,
    "GRU": recurrence,
    "LSTM": recurrence,
    "Attention": attention,
    "ai.onnx.preview::FlexAttention": attention,
    "com.microsoft::Attention": packed_attention,
    "com.microsoft::MultiHeadAttention": multi_head_attention,
}

#: Expensive operators without a formula here.
OPEN = frozenset(
    {
        "LinearAttention", "com.microsoft::BeamSearch", "com.microsoft::DecoderAttention",
        "com.microsoft::DecoderMaskedMultiHeadAttention",
        "com.microsoft::DecoderMaskedSelfAttention", "com.microsoft::DynamicQuantizeLSTM",
        "com.microsoft::GreedySearch", "com.microsoft::GroupQueryAttention",
        "com.microsoft::LongformerAttention", "com.microsoft::MoE", "com.microsoft::NhwcFusedConv",
        "com.microsoft::PackedAttention", "com.microsoft::PackedMultiHeadAttention",
        "com.microsoft::PagedAttention", "com.microsoft::QAttention", "com.microsoft::QMoE",
        "com.microsoft::Sampling", "com.microsoft::SparseAttention",
        "com.microsoft::WhisperBeamSearch", "com.microsoft::WordConvEmbedding",
    }
)  # fmt: skip
