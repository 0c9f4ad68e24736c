"""Size and arithmetic cost of a network.

A multiply-accumulate (MAC) is one multiplication and addition of a linear operator; others count
zero (Sze et al. 2017, "Efficient Processing of Deep Neural Networks", section II; as MLPerf and
fvcore). FLOPs are about twice the MACs. Dynamic dimensions count 1, so a dynamic batch is counted
per sample. If a size that matters is unknown, so is the count: an estimate would pass for a fact.
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
    """Weight elements, their bytes, MACs of a run (``None`` if unknown), and elements by dtype."""

    parameters: int
    weight_bytes: int
    macs: int | None
    weight_dtypes: dict[str, int]


def cost(flow: Flow) -> Cost:
    """Parameters, weight bytes and MACs of a network.

    A parameter is a stored number, except sizes, indices and booleans. The numeric attributes of
    classical models (trees, linear models) count as 32-bit floats.
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
    bounded_macs = macs if macs is None or macs <= _MAX else None
    return Cost(
        parameters, weight_bytes, bounded_macs, {name: n for name, n in dtypes.items() if n}
    )


def body_macs(flow: Flow, body: Body) -> int:
    """MACs of one pass through ``body``, including nested bodies. Raises Open if a size or a number
    of iterations is unknown."""
    return sum(
        step_macs(flow, step) + (_inner_macs(flow, step) if step.bodies else 0)
        for step in body.steps
    )


def step_cost(flow: Flow, step: Step) -> int | None:
    """MACs of one run of a step, with its bodies; ``None`` if unknown."""
    try:
        return step_macs(flow, step) + (_inner_macs(flow, step) if step.bodies else 0)
    except Open:
        return None


def _inner_macs(flow: Flow, step: Step) -> int:
    """MACs of a control-flow step: its most expensive branch, or its body times the iterations."""
    inner = max(body_macs(flow, body) for body in step.bodies.values())
    if not inner or step.op == "If":
        return inner
    return inner * _iterations(flow, step)


def _iterations(flow: Flow, step: Step) -> int:
    if step.op == "Loop":
        bound, condition = flow.values(step.input(0)), step.input(1)
        # A condition that may become false can end the loop before its bound.
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
