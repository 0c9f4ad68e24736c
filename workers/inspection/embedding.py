"""Structure embedding: a unit vector of a network's structure; near vectors mean similar networks.

It serves to find similar models and to start searches from the history of the nearest networks. Six
blocks of numbers between 0 and 1 keep any single count from dominating the distance::

    operators   shares of steps by family (convolution, product, attention, layout, ...)
    arithmetic  shares of MACs by kind of linear operator
    motifs      what determines the architecture class: skips, depthwise parts, attention, heads...
    kernels     shares of convolutions by kind
    size        logarithms of parameters, MACs, steps and outputs
    form        depth, width, skips, joins, control flow, open dimensions, precision

Each block is weighted by :data:`_WEIGHTS` before the whole is scaled to unit length. The last
component is constant, so that an empty network has a direction as well.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from onnx import TensorProto

from workers.inspection.cost import Cost
from workers.inspection.dtypes import STRUCTURAL
from workers.inspection.families import CONVOLUTIONS, FAMILIES, FAMILY_OF, PRODUCTS, RECURRENCES
from workers.inspection.flow import Flow, Step
from workers.inspection.macs import Open, step_macs
from workers.inspection.motifs import Motifs

_WEIGHTS = {
    "operators": 0.8,
    "arithmetic": 0.8,
    "motifs": 1.0,
    "kernels": 0.5,
    "size": 0.4,
    "form": 0.5,
}
_KINDS = ("dense", "grouped", "depthwise", "pointwise", "product", "mixing", "recurrent")
#: Parameters, MACs and steps at which the logarithmic scales end.
_NARROW = frozenset(
    {
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT4,
        TensorProto.UINT4,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
    }
)
_MOST_PARAMETERS, _MOST_MACS, _MOST_STEPS = 1e11, 1e13, 1e5


def embedding(flow: Flow, motifs: Motifs, spent: Cost, signature: Mapping[str, Any]) -> list[float]:
    """The embedding of a network: a fixed number of values between 0 and 1."""
    fixed = flow.fixed()
    # Steps on constants only are evaluated once, when a runtime loads the model.
    steps = [step for step in flow.steps() if not fixed.issuperset(filter(None, step.outputs))]
    blocks = {
        "operators": _operators(steps),
        "arithmetic": _arithmetic(flow, steps, fixed),
        "motifs": _motif_shares(steps, motifs),
        "kernels": _kernels(motifs),
        "size": _size(steps, spent, signature),
        "form": _form(flow, steps, motifs, signature),
    }
    vector = [_WEIGHTS[name] * value for name, values in blocks.items() for value in values]
    vector.append(0.1)
    length = math.sqrt(sum(value * value for value in vector))
    return [round(value / length, 6) for value in vector]


def _operators(steps: list[Step]) -> list[float]:
    counts = Counter(FAMILY_OF.get(step.op, "other") for step in steps)
    # Square roots keep a few attentions visible among hundreds of layout steps.
    return [math.sqrt(_share(counts[family], len(steps))) for family in (*FAMILIES, "other")]


def _arithmetic(flow: Flow, steps: list[Step], fixed: set[int]) -> list[float]:
    spent: Counter[str] = Counter()
    for step in steps:
        kind = _kind(flow, step, fixed)
        if kind:
            try:
                spent[kind] += step_macs(flow, step)
            except Open:
                # An unknown size hides the amount of work, not its presence.
                spent[kind] += 1
    total = sum(spent.values())
    return [math.sqrt(_share(spent[kind], total)) for kind in _KINDS]


def _kind(flow: Flow, step: Step, fixed: set[int]) -> str:
    if step.op in RECURRENCES:
        return "recurrent"
    if step.op in PRODUCTS:
        weighted = any(value in fixed for value in step.inputs if value is not None)
        return "product" if weighted else "mixing"
    if step.op.endswith("Attention"):
        return "mixing"
    if step.op not in CONVOLUTIONS:
        return ""
    weight = flow.shape(step.input(CONVOLUTIONS[step.op])) or ()
    if step.number("group", 1) > 1:
        return "depthwise" if weight[1:2] == (1,) else "grouped"
    return "pointwise" if all(size == 1 for size in weight[2:]) else "dense"


def _motif_shares(steps: list[Step], motifs: Motifs) -> list[float]:
    convolutions = len(motifs.convolutions)
    layers = convolutions + motifs.products + motifs.recurrences
    grouped = sum(c.group > 1 and not c.depthwise for c in motifs.convolutions)
    joins = sum(step.op == "Concat" for step in steps)
    # The factor is about how many layers there are per motif in networks dominated by it.
    shares = [
        _share(2 * motifs.skips, layers),
        _share(2 * joins, layers),
        _share(3 * motifs.depthwise, convolutions),
        _share(3 * grouped, convolutions),
        _share(6 * motifs.attentions, layers),
        _share(motifs.recurrences + motifs.unrolled, layers),
        _share(motifs.products, layers),
        _share(len(motifs.head_scales) - 1, 2) if motifs.head_scales else 0.0,
    ]
    return [math.sqrt(share) for share in shares]


def _kernels(motifs: Motifs) -> list[float]:
    convolutions = motifs.convolutions
    largest = [max(convolution.kernel, default=0) for convolution in convolutions]
    counts = [
        sum(c.pointwise for c in convolutions),
        sum(size == 3 for size in largest),
        sum(size == 5 for size in largest),
        sum(size >= 7 for size in largest),
        sum(c.strided for c in convolutions),
        sum(c.dilated for c in convolutions),
        sum(len(c.kernel) == 1 for c in convolutions),
        sum(len(c.kernel) == 3 for c in convolutions),
    ]
    return [_share(count, len(convolutions)) for count in counts]


def _size(steps: list[Step], spent: Cost, signature: Mapping[str, Any]) -> list[float]:
    return [
        _log_share(spent.parameters, _MOST_PARAMETERS),
        _log_share(spent.macs or 0, _MOST_MACS),
        _log_share(len(steps), _MOST_STEPS),
        _log_share(len(signature["outputs"]), 100),
        _log_share(len(signature["inputs"]), 100),
        # MACs per weight: the reuse of weights, high in CNNs and near 1 in dense networks.
        _log_share((spent.macs or 0) / max(spent.parameters, 1), 1e4),
    ]


def _form(
    flow: Flow, steps: list[Step], motifs: Motifs, signature: Mapping[str, Any]
) -> list[float]:
    count = len(steps)
    depth, width = _depth_and_width(flow)
    readers = Counter(v for step in steps for v in step.inputs if v is not None)
    stored = [c.dtype for c in flow.constants.values() if c.dtype not in STRUCTURAL]
    axes = [
        axis
        for tensor in signature["inputs"]
        for axis, size in enumerate(tensor["shape"])
        if isinstance(size, str)
    ]
    return [
        _share(depth, count),
        _log_share(depth, 1e4),
        _log_share(width, 1e3),
        _share(sum(readers[v] > 1 for step in steps for v in step.outputs if v), count),
        _share(motifs.mixings, motifs.mixings + motifs.products),
        _share(sum(kind in _NARROW for kind in stored), len(stored)),
        float(any(step.bodies for step in steps)),
        float(0 in axes),
        float(any(axis > 0 for axis in axes)),
    ]


def _depth_and_width(flow: Flow) -> tuple[int, int]:
    """Length of the longest path through the main graph, and most steps at one depth."""
    level: dict[int, int] = {}
    occupied: Counter[int] = Counter()
    for step in flow.main.steps:
        read = [level.get(v, 0) for v in (*step.inputs, *step.captured) if v is not None]
        here = 1 + max(read, default=0)
        occupied[here] += 1
        level.update((value, here) for value in step.outputs if value is not None)
    return max(occupied, default=0), max(occupied.values(), default=0)


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 0.0


def _log_share(value: float, most: float) -> float:
    """``value`` on a logarithmic scale that maps ``most`` to 1, clipped at 1."""
    return min(math.log1p(value) / math.log1p(most), 1.0)
