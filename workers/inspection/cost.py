"""What a network weighs and computes.

A multiply-accumulate (MAC) is one multiplication and one addition of a linear operator; all other
operators count zero (Sze et al. 2017, "Efficient Processing of Deep Neural Networks", section II;
the same convention as MLPerf's and fvcore's). FLOPs are about twice the MACs. Dynamic dimensions
count 1, so a model with an open batch is counted per sample. Where a size that matters stays open,
the count does too: an estimate nobody asked for would be taken for a fact.
"""

from collections import Counter
from dataclasses import dataclass

from workers.inspection.dtypes import STRUCTURAL, bytes_of, name_of
from workers.inspection.flow import Body, Flow, Step
from workers.inspection.macs import Open, step_macs

_MAX = 2**63 - 1
_TREES = "ai.onnx.ml::"


@dataclass(frozen=True, slots=True)
class Cost:
    """Weight elements, their bytes, MACs of one run (``None`` if open), and elements by dtype."""

    parameters: int
    weight_bytes: int
    macs: int | None
    weight_dtypes: dict[str, int]


def cost(flow: Flow) -> Cost:
    """Parameters, weight bytes and MACs of a network.

    A parameter is a stored number of any type but those of sizes, indices and switches; the number
    lists of classical models (trees, linear models) count too, as 32-bit floats.
    """
    parameters = weight_bytes = 0
    dtypes: Counter[str] = Counter()
    for constant in flow.constants.values():
        if constant.dtype in STRUCTURAL:
            continue
        parameters += constant.elements
        dtypes[name_of(constant.dtype)] += constant.elements
        weight_bytes += bytes_of(constant.dtype, constant.elements) or 0
    for step in flow.steps():
        if step.op.startswith(_TREES):
            numbers = sum(len(attribute.floats) for attribute in step.attributes.values())
            parameters += numbers
            dtypes["float32"] += numbers
            weight_bytes += 4 * numbers
    try:
        macs: int | None = body_macs(flow, flow.main)
    except Open:
        macs = None
    known_macs = macs if macs is None or macs <= _MAX else None
    return Cost(parameters, weight_bytes, known_macs, {name: n for name, n in dtypes.items() if n})


def body_macs(flow: Flow, body: Body) -> int:
    """MACs of one pass through ``body``, those of inner bodies included.

    Raises:
        Open: a size or a number of rounds is not known.
    """
    return sum(
        step_macs(flow, step) + (_inner_macs(flow, step) if step.bodies else 0)
        for step in body.steps
    )


def _inner_macs(flow: Flow, step: Step) -> int:
    """MACs of a control-flow step: the dearer branch, or the body times its rounds."""
    inner = max(body_macs(flow, body) for body in step.bodies.values())
    if not inner or step.op == "If":
        return inner
    return inner * _rounds(flow, step)


def _rounds(flow: Flow, step: Step) -> int:
    """How often ``Loop`` or ``Scan`` runs its body."""
    if step.op == "Loop":
        bound, condition = flow.values(step.input(0)), step.input(1)
        # With a condition that may turn false, the bound is not what is run.
        stays_true = condition is None or condition in flow.constants
        if bound is not None and bound.size == 1 and stays_true:
            return max(0, int(bound.reshape(())))
    if step.op == "Scan":
        scanned = step.number("num_scan_inputs", 0)
        shape = flow.shape(step.inputs[-1]) if scanned and step.inputs else None
        axes = step.numbers("scan_input_axes")
        axis = axes[-1] if axes else 0
        if shape and -len(shape) <= axis < len(shape):
            length = shape[axis]
            if length is not None:
                return length
    raise Open
