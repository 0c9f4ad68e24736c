"""Families of operators with the same role in a network."""

CONVOLUTIONS: dict[str, int] = {
    "Conv": 1,
    "CausalConvWithState": 1,
    "ConvInteger": 1,
    "QLinearConv": 3,
    "ConvTranspose": 1,
    "DeformConv": 1,
    "com.microsoft::FusedConv": 1,
    "com.microsoft::NhwcFusedConv": 1,
    "com.microsoft::QLinearConv": 3,
}
#: Operator to the input that is its weight.
PRODUCTS: dict[str, int] = {
    "Gemm": 1,
    "MatMul": 1,
    "Einsum": 1,
    "MatMulInteger": 1,
    "QLinearMatMul": 3,
    "com.microsoft::FusedGemm": 1,
    "com.microsoft::FusedMatMul": 1,
    "com.microsoft::QGemm": 3,
    "com.microsoft::DynamicQuantizeMatMul": 1,
    "com.microsoft::MatMulIntegerToFloat": 1,
    "com.microsoft::MatMulNBits": 1,
}
RECURRENCES = frozenset({"RNN", "GRU", "LSTM", "com.microsoft::DynamicQuantizeLSTM"})
SUPPRESSIONS = frozenset({"NonMaxSuppression", "RoiAlign", "MaxRoiPool"})
ADDITIONS = frozenset({"Add", "Sum", "com.microsoft::QLinearAdd"})
POOLS = frozenset({"MaxPool", "AveragePool", "LpPool", "com.microsoft::QLinearAveragePool"})
GLOBAL_POOLS = frozenset({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
ENLARGERS = frozenset({"Resize", "Upsample"})
RESHAPERS = frozenset(
    {
        "Cast", "Concat", "DequantizeLinear", "Dropout", "Expand", "Flatten", "Gather", "Identity",
        "QuantizeLinear", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
    }
)  # fmt: skip
#: Operators between the two products of an attention and its softmax: masks, scales, layouts.
BESIDE_SOFTMAX = RESHAPERS | {"Add", "Clip", "Div", "Max", "Min", "Mul", "Sub", "Where"}
#: Operators between a predicting convolution and the output: layouts, activations, box decoding.
BESIDE_HEAD = RESHAPERS | {
    *("Add", "Clip", "Div", "Exp", "Mul", "Pow", "Sigmoid", "Softmax", "Sub")
}

#: Family to its operators. All other operators belong to the family ``other``.
FAMILIES: dict[str, frozenset[str]] = {
    "convolution": frozenset(CONVOLUTIONS),
    "product": frozenset(PRODUCTS),
    "recurrence": RECURRENCES,
    "attention": frozenset(
        {
            "Attention", "LinearAttention", "ai.onnx.preview::FlexAttention",
            "com.microsoft::Attention", "com.microsoft::GroupQueryAttention",
            "com.microsoft::MultiHeadAttention", "com.microsoft::QAttention",
        }
    ),
    "normalisation": frozenset(
        {
            *("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN"),
            *("LayerNormalization", "LpNormalization", "RMSNormalization"),
            *("MeanVarianceNormalization", "SimplifiedLayerNormalization"),
            "com.microsoft::SkipLayerNormalization",
        }
    ),
    "rectifier": frozenset(
        {"Clip", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "PRelu", "Relu", "Selu"}
    ),
    "smooth": frozenset(
        {
            *("Celu", "Erf", "Gelu", "Mish", "Sigmoid", "Softplus", "Softsign", "Swish", "Tanh"),
            *("com.microsoft::BiasGelu", "com.microsoft::FastGelu", "com.microsoft::Gelu"),
        }
    ),
    "softmax": frozenset({"Hardmax", "LogSoftmax", "Softmax"}),
    "pooling": POOLS | GLOBAL_POOLS,
    "addition": ADDITIONS | {"Sub"},
    "scaling": frozenset({"Div", "Mul", "com.microsoft::QLinearMul"}),
    "elementary": frozenset(
        {"Abs", "Ceil", "Cos", "Exp", "Floor", "Log", "Neg", "Pow", "Reciprocal", "Sin", "Sqrt"}
    ),
    "reduction": frozenset(
        {
            *("ArgMax", "ArgMin", "CumSum", "ReduceL1", "ReduceL2", "ReduceLogSumExp"),
            *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
            *("ReduceSumSquare", "TopK"),
        }
    ),
    "comparison": frozenset(
        {
            *("And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min"),
            *("Not", "Or", "Where", "Xor"),
        }
    ),
    "layout": frozenset(
        {
            *("DepthToSpace", "Expand", "Flatten", "Identity", "Reshape", "SpaceToDepth"),
            *("Squeeze", "Tile", "Transpose", "Unsqueeze", "Pad"),
        }
    ),
    "joining": frozenset({"Concat"}),
    "parting": frozenset({"Slice", "Split"}),
    "lookup": frozenset(
        {"Gather", "GatherElements", "GatherND", "OneHot", "ScatterElements", "ScatterND"}
    ),
    "resizing": ENLARGERS | {"AffineGrid", "GridSample"},
    "sizes": frozenset({"ConstantOfShape", "NonZero", "Range", "Shape", "Size"}),
    "casting": frozenset({"Cast", "CastLike"}),
    "quantisation": frozenset({"DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"}),
    "control": frozenset({"If", "Loop", "Scan"}),
    "selection": SUPPRESSIONS,
}  # fmt: skip
FAMILY_OF: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops}
