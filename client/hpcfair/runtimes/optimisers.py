"""ONNX Runtime's graph optimisers by name, as version 1.31 has them, in the order they run.

Names are those that its ``disabled_optimizers`` takes; one that another version does not know is
ignored there, so a list means the same with every version as far as it can. What a session cannot
do without (``EnsureUniqueDQForNodeUnit``) is not among them.
"""

from hpcfair.errors import BadConfig

#: What stands for "no optimiser" where a list of them is expected.
NONE = "none"

#: Rewrite rules and transformers of the level ``basic``.
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
#: Those of ``extended``. ``GemmTransposeFusion`` and ``MatMulAddFusion`` run again here.
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
#: Those of ``layout``, and the one that ``all`` adds.
LAYOUT = ("NchwcTransformer", "NhwcTransformer", "ConvAddActivationFusion")
ALL = (*BASIC, *EXTENDED, *LAYOUT, "FuseFp16InitializerToFp32NodeTransformer")


def disabled(passes: str) -> set[str]:
    """The optimisers that a list does not name, and that must therefore not run.

    Args:
        passes: Names joined by commas, or :data:`NONE`.

    Raises:
        BadConfig: no optimiser has one of the names.
    """
    kept: set[str] = set() if passes == NONE else set(passes.split(","))
    unknown = kept - set(ALL)
    if unknown:
        raise BadConfig(
            f"ONNX Runtime has no optimiser called {', '.join(sorted(unknown))!r}",
            "A newer hpcfair may know it.",
        )
    return set(ALL) - kept
