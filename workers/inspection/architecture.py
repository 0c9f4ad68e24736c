"""Architecture class: networks that profit from the same compiler passes.

The classes follow Verma et al. (CF 2022), who found that the best passes depend on them. They
measured ResNets, MobileNets, SSDs and BERTs; the other classes are added here. Rules are tried in
this order, because a motif of a later class often appears inside an earlier one:

``detection``      non-maximum suppression or region pooling; or convolutions that predict outputs
                   at two or more scales. Detectors contain a complete CNN as their backbone,
                   but heads and box arithmetic determine the effect of passes.
``transformer``    attention, and at least as many weights in matrix products as in convolutions:
                   a CNN with one attention block spends its time in convolutions.
``recurrent``      recurrent operators, or products inside a loop: sequential steps.
``depthwise-cnn``  at least a sixth of the convolutions are depthwise. They are bound by memory
                   bandwidth, other CNNs by arithmetic. MobileNets have a third, and
                   EfficientNets a fifth because of their squeeze-and-excite convolutions.
``residual-cnn``   at least two skip additions, one per twelve convolutions: fusion must respect
                   values with two readers.
``plain-cnn``      other convolutional networks (VGG, Inception, DenseNet).
``mlp``            weights in matrix products only.
``other``          everything else: trees, linear models, image processing.

A network whose convolutions are fewer than a tenth of its layers is not convolutional: mixers and
vision transformers use one to extract patches.
"""

from typing import Literal

from workers.inspection.motifs import Motifs

ArchitectureClass = Literal[
    "residual-cnn",
    "depthwise-cnn",
    "plain-cnn",
    "detection",
    "transformer",
    "recurrent",
    "mlp",
    "other",
]


def architecture_class(motifs: Motifs) -> ArchitectureClass:
    """The class of a network with these structural motifs: a value of ``registry.states``."""
    if motifs.suppressions or len(motifs.head_scales) > 1:
        return "detection"
    if motifs.attentions and motifs.product_weights >= motifs.convolution_weights:
        return "transformer"
    if motifs.recurrences or (motifs.unrolled and not motifs.convolutions):
        return "recurrent"
    layers = len(motifs.convolutions) + motifs.products
    if motifs.convolutions and 10 * len(motifs.convolutions) >= layers:
        return _convolutional(motifs)
    return "mlp" if motifs.products else "other"


def _convolutional(motifs: Motifs) -> ArchitectureClass:
    count = len(motifs.convolutions)
    if 6 * motifs.depthwise >= count:
        return "depthwise-cnn"
    if motifs.skips >= 2 and 12 * motifs.skips >= count:
        return "residual-cnn"
    return "plain-cnn"
