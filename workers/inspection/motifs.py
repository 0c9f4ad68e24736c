"""Structural motifs of a network: kinds of convolutions, attention, recurrences, skips, heads.

Motifs are recognised by structure, never by the names of tensors, layers, producers or files:
compilers see structure only, so classes built on it predict how a compiler behaves.
"""

import math
from dataclasses import dataclass, field

from workers.inspection.families import (
    ADDITIONS,
    BESIDE_HEAD,
    BESIDE_SOFTMAX,
    CONVOLUTIONS,
    ENLARGERS,
    GLOBAL_POOLS,
    POOLS,
    PRODUCTS,
    RECURRENCES,
    SUPPRESSIONS,
)
from workers.inspection.flow import Flow, Step
from workers.inspection.wiring import Wiring, near, reaches


@dataclass(frozen=True, slots=True)
class Convolution:
    """One convolution: ``kernel`` and ``strides`` per spatial axis; ``weights`` elements."""

    kernel: tuple[int, ...]
    group: int
    depthwise: bool
    strided: bool
    dilated: bool
    weights: int

    @property
    def pointwise(self) -> bool:
        return all(size == 1 for size in self.kernel)


@dataclass(slots=True)
class Motifs:
    """Counts of structural motifs.

    Attributes:
        products: Matrix products with a weight.
        mixings: Matrix products of two computed tensors.
        attentions: Softmax between two mixings, or an operator that is an attention.
        skips: Additions of two computed tensors of one shape.
        head_scales: Halvings of the image after which convolutions predict outputs directly.
        unrolled: Products inside the body of a ``Loop`` or ``Scan``.
    """

    convolutions: list[Convolution] = field(default_factory=list)
    convolution_weights: int = 0
    products: int = 0
    product_weights: int = 0
    mixings: int = 0
    attentions: int = 0
    recurrences: int = 0
    suppressions: int = 0
    skips: int = 0
    head_scales: set[int] = field(default_factory=set)
    unrolled: int = 0

    @property
    def depthwise(self) -> int:
        return sum(convolution.depthwise for convolution in self.convolutions)


def find_motifs(flow: Flow) -> Motifs:
    """Count the structural motifs of a network."""
    fixed = flow.fixed()
    wiring = Wiring(flow)
    motifs = Motifs()
    for step in flow.steps():
        _examine(flow, step, fixed, motifs)
    mixing = {s for s in flow.steps() if s.op in PRODUCTS and not _weight(step=s, fixed=fixed)}
    motifs.mixings = len(mixing)
    for step in flow.steps():
        if step.op.endswith("Attention"):
            motifs.attentions += 1
        elif step.op == "Softmax":
            scored = reaches(step, wiring.before, BESIDE_SOFTMAX, mixing)
            motifs.attentions += scored and reaches(step, wiring.after, BESIDE_SOFTMAX, mixing)
        if step.op in {"Loop", "Scan"}:
            motifs.unrolled += sum(
                inner.op in PRODUCTS for body in step.bodies.values() for inner in body.steps
            )
    motifs.head_scales = _head_scales(flow, wiring)
    return motifs


def _examine(flow: Flow, step: Step, fixed: set[int], motifs: Motifs) -> None:
    if step.op in CONVOLUTIONS:
        convolution = _convolution(flow, step)
        motifs.convolutions.append(convolution)
        motifs.convolution_weights += convolution.weights
    elif step.op in PRODUCTS:
        weight = _weight(step, fixed)
        motifs.products += weight is not None
        motifs.product_weights += _elements(flow, weight)
    elif step.op in RECURRENCES:
        motifs.recurrences += 1
    elif step.op in SUPPRESSIONS:
        motifs.suppressions += 1
    elif step.op in ADDITIONS:
        motifs.skips += _is_skip(flow, step, fixed)


def _convolution(flow: Flow, step: Step) -> Convolution:
    weight = flow.shape(step.input(CONVOLUTIONS[step.op]))
    shape = tuple(size or 1 for size in weight or ())
    group = step.number("group", 1)
    if step.op == "CausalConvWithState":
        group = shape[0] if shape else 1
    transposed = step.op == "ConvTranspose"
    return Convolution(
        kernel=step.numbers("kernel_shape") or shape[2:],
        group=group,
        # One input channel per group; with one group in all it is an ordinary convolution.
        depthwise=group > 1
        and len(shape) > 1
        and (shape[0] == group if transposed else shape[1] == 1),
        strided=any(stride > 1 for stride in step.numbers("strides")),
        dilated=any(rate > 1 for rate in step.numbers("dilations")),
        weights=math.prod(shape) if shape else 0,
    )


def _weight(step: Step, fixed: set[int]) -> int | None:
    """The constant factor of a product; ``None`` if both factors are computed."""
    candidates = (step.input(PRODUCTS[step.op]), step.input(0))
    return next((v for v in candidates if v is not None and v in fixed), None)


def _elements(flow: Flow, value: int | None) -> int:
    shape = flow.shape(value)
    return math.prod(size or 1 for size in shape) if shape else 0


def _is_skip(flow: Flow, step: Step, fixed: set[int]) -> bool:
    computed = [v for v in step.inputs if v is not None and v not in fixed]
    shapes = {flow.shape(value) for value in computed}
    return len(set(computed)) > 1 and len(shapes) == 1 and len(next(iter(shapes)) or ()) > 1


def _head_scales(flow: Flow, wiring: Wiring) -> set[int]:
    """Numbers of halvings of the image at which convolutions predict outputs directly."""
    scales = _scales(flow)
    head_scales: set[int] = set()
    for output in flow.main.outputs:
        maker = wiring.maker.get(output)
        if maker is None:
            continue
        reached = [maker, *near(maker, wiring.before, BESIDE_HEAD)]
        if maker.op not in BESIDE_HEAD:
            reached = [maker]
        head_scales |= {
            scales[step.outputs[0]]
            for step in reached
            if step.op in CONVOLUTIONS and step.outputs[0] in scales
        }
    return head_scales


def _scales(flow: Flow) -> dict[int | None, int]:
    """Number of halvings of the image at each value, by the strides on the longest path."""
    scales: dict[int | None, int] = dict.fromkeys(flow.main.inputs, 0)
    for step in flow.steps():
        inputs = [scales[value] for value in step.inputs if value in scales]
        scale = max(inputs, default=0)
        stride = max(step.numbers("strides"), default=1)
        if step.op == "ConvTranspose" or step.op in ENLARGERS:
            scale -= max(1, stride.bit_length() - 1)
        elif step.op in GLOBAL_POOLS:
            scale += 16
        elif step.op in CONVOLUTIONS or step.op in POOLS:
            scale += max(0, stride.bit_length() - 1)
        scales.update(dict.fromkeys(step.outputs, scale))
    return scales
