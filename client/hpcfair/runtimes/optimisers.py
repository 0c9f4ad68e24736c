"""Names of the graph optimisers of ONNX Runtime 1.31, in the order they run.

The names are those of the argument ``disabled_optimizers``. ONNX Runtime ignores names it does not
have, so lists remain valid with other versions. ``EnsureUniqueDQForNodeUnit``, which sessions need,
is left out.
"""

from hpcfair.errors import BadConfig

#: The list without optimisers.
NONE = "none"

#: Optimisers of the level ``basic``: rewrite rules and transformers.
BASIC = (
    *("EliminateIdentity", "EliminateSlice", "UnsqueezeElimination", "EliminateDropout"),
    *("ExpandElimination", "CastElimination", "PreShapeNodeElimination", "NoopElimination"),
    *("DivMulFusion", "FuseReluClip", "GemmSumFusion", "GemmTransposeFusion", "NotWhereFusion"),
    *("ConvAddFusion", "ConvMulFusion", "ConvBNFusion", "Pad_Fusion"),
    *("MatMul_BatchNormalization_Fusion", "LabelEncoderFusion", "DoubleQDQPairsRemover"),
    *("ConstantSharing", "CommonSubexpressionElimination", "ConstantFolding", "MatMulAddFusion"),
    *("ReshapeFusion", "FreeDimensionOverrideTransformer", "SliceConcatToSpaceToDepthFusion"),
    *("GeluFusionL1", "LayerNormFusionL1", "QDQPropagationTransformer", "WeightBiasQuantization"),
    *("WhereDummyDq", "TransposeOptimizer"),
)
#: Optimisers added by ``extended``; ``GemmTransposeFusion`` and ``MatMulAddFusion`` run again.
EXTENDED = (
    *("ClipQuantRewrite", "ReluQuantRewrite", "TransposeOptimizer_CPUExecutionProvider"),
    *("QDQS8ToU8Transformer", "QDQSelectorActionTransformer", "GemmActivationFusion"),
    *("MatMulIntegerToFloatFusion", "DynamicQuantizeMatMulFusion", "ConvActivationFusion"),
    *("GeluFusionL2", "LayerNormFusionL2", "SimplifiedLayerNormFusion", "AttentionFusion"),
    *("EmbedLayerNormFusion", "GatherSliceToSplitFusion", "GatherToSliceFusion"),
    *("MatmulTransposeFusion", "BiasGeluFusion", "GroupQueryAttentionFusion"),
    *("SkipLayerNormFusion", "BiasSkipLayerNormFusion", "FastGeluFusion", "QuickGeluFusion"),
    *("BiasSoftmaxFusion", "BiasDropoutFusion", "MatMulScaleFusion", "MatMulActivationFusion"),
    *("MatMulNBitsFusion", "GroupQueryAttentionPreNormFusion", "QDQFinalCleanupTransformer"),
)
#: Optimisers added by ``layout``; ``all`` adds one more.
LAYOUT = ("NchwcTransformer", "NhwcTransformer", "ConvAddActivationFusion")
ALL = (*BASIC, *EXTENDED, *LAYOUT, "FuseFp16InitializerToFp32NodeTransformer")


def disabled(passes: str) -> set[str]:
    """The optimisers that are missing from ``passes``, names joined by commas or :data:`NONE`, and
    must not run. Raises BadConfig for an unknown name."""
    enabled: set[str] = set() if passes == NONE else set(passes.split(","))
    unknown = enabled - set(ALL)
    if unknown:
        raise BadConfig(
            f"ONNX Runtime has no optimiser {', '.join(sorted(unknown))!r}",
            "A newer hpcfair may have it.",
        )
    return set(ALL) - enabled
