"""Kinds of calls, and the patterns of operators that calls of a kind may compute.

A pattern is a small graph of slots, each a set of operators. Larger ones are tried first: a call
that could be a convolution with its activation is more likely both than the convolution alone,
because the activation would otherwise need its own call, and the cover would not be exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Slot = frozenset[str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Slots, and edges between them by their numbers. Slot 0 is the main operator."""

    slots: tuple[Slot, ...]
    edges: tuple[tuple[int, int], ...] = ()


def _slot(operators: str) -> Slot:
    return frozenset(operators.split())


_CONV = _slot("Conv ConvTranspose ConvInteger QLinearConv")
_PRODUCT = _slot("MatMul Gemm MatMulInteger QLinearMatMul Einsum")
_ACT = _slot(
    "Relu Clip LeakyRelu PRelu Sigmoid Tanh HardSigmoid HardSwish Elu Selu Gelu Softplus Mish"
)
_SUM = _slot("Add Sum")
_NORM = _slot("BatchNormalization")
_ELEMENTWISE = _ACT | _slot(
    "Add Sum Sub Mul Div Pow Sqrt Exp Log Neg Abs Erf Reciprocal Where Min Max Equal Greater Less"
    " Not And Or Floor Ceil Round Sign Cos Sin Mod"
)
_MEAN, _SUB, _DIV, _MUL, _SQUARE = (
    _slot("ReduceMean"), _slot("Sub"), _slot("Div"), _slot("Mul"), _slot("Pow Mul"),
)  # fmt: skip
_POOL = _slot("MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool ReduceMean")
_REDUCE = _slot(
    "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL2 GlobalAveragePool ArgMax ArgMin"
)


def _chain(*slots: Slot) -> Pattern:
    return Pattern(slots, tuple(pairwise(range(len(slots)))))


def _single(operators: Iterable[str]) -> tuple[Pattern, ...]:
    return (Pattern((frozenset(operators),)),)


#: x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, and in another order of the products.
_GELU = Pattern((_slot("Erf"), _DIV | _MUL, _SUM, _MUL, _MUL), ((1, 0), (0, 2), (2, 3), (3, 4)))
_LAYER_NORM = Pattern(
    (_MEAN, _SUB, _SQUARE, _MEAN, _SUM, _slot("Sqrt"), _DIV, _MUL, _SUM),
    ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (1, 6), (6, 7), (7, 8)),
)
_ATTENTION = _chain(_PRODUCT, _DIV | _MUL, _SUM, _slot("Softmax"), _PRODUCT)

#: Kind to its patterns, larger ones first.
PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "conv": (
        _chain(_CONV, _NORM, _SUM, _ACT),
        _chain(_CONV, _SUM, _ACT),
        _chain(_CONV, _NORM, _ACT),
        # x * Sigmoid(x) reads its input twice.
        Pattern((_CONV, _slot("Sigmoid HardSigmoid"), _MUL), ((0, 1), (1, 2), (0, 2))),
        _chain(_CONV, _NORM, _SUM),
        _chain(_CONV, _ACT),
        _chain(_CONV, _NORM),
        _chain(_CONV, _SUM),
        _chain(_CONV),
    ),
    "product": (
        _chain(_PRODUCT, _SUM, _ACT),
        _chain(_PRODUCT, _ACT),
        _chain(_PRODUCT, _SUM),
        _chain(_PRODUCT),
    ),
    "elementwise": tuple(_chain(*[_ELEMENTWISE] * length) for length in (4, 3, 2, 1)),
    "gelu": (_GELU, *_single(["Gelu"])),
    "layernorm": (_LAYER_NORM, *_single(["LayerNormalization"])),
    "attention": (
        _ATTENTION,
        _chain(_PRODUCT, _DIV | _MUL, _slot("Softmax"), _PRODUCT),
        _chain(_PRODUCT, _slot("Softmax"), _PRODUCT),
        *_single(["Attention", "MultiHeadAttention"]),
    ),
    "pool": _single(_POOL),
    "reduce": _single(_REDUCE),
    "softmax": _single(["Softmax", "LogSoftmax"]),
    "norm": _single(["BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"]),
    "gather": _single(["Gather", "GatherElements", "GatherND"]),
    "resize": _single(["Resize", "Upsample"]),
    "concat": _single(["Concat"]),
}
#: Kinds whose calls compute a whole region, of which they name the last node only.
REGIONS = frozenset({"attention", "layernorm", "gelu", "region"})
#: Kinds that every network has exactly one call for, per operator.
HEAVY_KINDS = frozenset({"conv", "product"})

#: Names of operators in the tools' terms, in lower case, to kinds. ONNX operators that are not here
#: are kinds of their own.
_KINDS: dict[str, str] = {
    "fusedconv": "conv", "nhwcfusedconv": "conv", "nhwcconv": "conv", "qlinearconv": "conv",
    "convinteger": "conv", "convtranspose": "conv", "conv": "conv", "convolution": "conv",
    "groupconvolution": "conv", "deconvolution": "conv", "caskconvolution": "conv",
    "caskdeconvolution": "conv", "caskfullyconnected": "product",
    "fusedmatmul": "product", "fusedgemm": "product", "matmul": "product", "gemm": "product",
    "qgemm": "product", "qlinearmatmul": "product", "matmulinteger": "product",
    "matmulintegertofloat": "product", "dynamicquantizematmul": "product",
    "matmulnbits": "product", "fullyconnected": "product", "matrixmultiply": "product",
    "caskgemmmatrixmultiply": "product", "einsum": "product",
    "subgraph": "elementwise", "eltwise": "elementwise", "elementwise": "elementwise",
    "pointwise": "elementwise", "pointwisev2": "elementwise", "activation": "elementwise",
    "gelu": "gelu", "biasgelu": "gelu", "fastgelu": "gelu", "quickgelu": "gelu",
    "layernormalization": "layernorm", "skiplayernormalization": "layernorm",
    "simplifiedlayernormalization": "layernorm", "mvn": "layernorm",
    "embedlayernormalization": "region", "skipsimplifiedlayernormalization": "layernorm",
    "attention": "attention", "multiheadattention": "attention", "qattention": "attention",
    "scaleddotproductattention": "attention", "scaledattn": "attention",
    "kgen": "region", "myelin": "region", "foreignnode": "region", "fusion": "region",
    "maxpool": "pool", "avgpool": "pool", "averagepool": "pool", "globalaveragepool": "pool",
    "globalmaxpool": "pool", "pooling": "pool", "pool": "pool", "caskpooling": "pool",
    "reducemean": "reduce", "reduce": "reduce", "softmax": "softmax",
    "casksoftmaxv2": "softmax", "logsoftmax": "softmax", "batchnormalization": "norm",
    "gather": "gather", "embedding": "gather", "interpolate": "resize", "resize": "resize",
    "concatenation": "concat", "concat": "concat",
}  # fmt: skip


def kind_of(operator: str) -> str:
    """The kind of a call by the tool's name of its operator; "" if the tool states no kind."""
    return _KINDS.get(operator.lower(), operator)


def patterns_of(operator: str) -> tuple[Pattern, ...]:
    """Patterns that a call of this operator may compute, largest first; empty if unknown."""
    if operator in _ELEMENTWISE:
        return _chains_from(operator)
    return PATTERNS.get(kind_of(operator), _single([operator]) if operator else ())


def _chains_from(operator: str) -> tuple[Pattern, ...]:
    """An elementwise operator, alone or with the ones that were fused behind it."""
    first = frozenset({operator})
    return tuple(_chain(first, *[_ELEMENTWISE] * more) for more in (1, 0))
