"""Graph hash: identifies the structure of a network, independent of names and weights.

It is equal for renamed, reordered, retrained or differently exported copies, and differs when an
operator, an attribute, a shape, a type or a connection differs. It is the key of shared searches.

The method is Weisfeiler-Leman colouring of the data-flow graph, in two sweeps that suffice for an
acyclic one (Shervashidze et al. 2011, section 3; Merkle trees do the same for trees)::

    down   a step's colour hashes its operator, attributes and the colours of what it reads
    up     then its down colour with the up colours of everything that reads it
    hash   SHA-256 over opsets, inputs, outputs and the sorted multiset of up colours

The downward sweep alone cannot distinguish one step that is read twice from two equal steps.

Values of constants are ignored, unless they are part of the structure: small integers (sizes, axes,
indices), and the real factors of a resize or a range, which determine shapes.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onnx import AttributeProto, TensorProto

from workers.inspection.dtypes import name_of
from workers.inspection.flow import Body, Constant, Flow, Step

#: DANGER: part of every hash. Change it only when the method changes: stored searches and builds
#: are looked up by these hashes.
_METHOD = "hpcfair.graph/1"
_MANY = 64
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL})
#: Operators whose small real inputs determine shapes.
_SHAPED_BY_REALS = frozenset({"Resize", "Upsample", "Range"})
#: Parts of the names of operators whose small integer inputs are learned (biases, zero points).
_QUANTISED = ("Integer", "Linear", "QGemm", "QAttention", "QMoE")

_ATTRIBUTES: dict[int, Callable[[AttributeProto], Any]] = {
    AttributeProto.INT: lambda a: a.i,
    AttributeProto.FLOAT: lambda a: a.f,
    AttributeProto.STRING: lambda a: a.s,
    AttributeProto.INTS: lambda a: list(a.ints),
    AttributeProto.FLOATS: lambda a: list(a.floats),
    AttributeProto.STRINGS: lambda a: list(a.strings),
    AttributeProto.TENSOR: lambda a: (name_of(a.t.data_type), tuple(a.t.dims)),
}

Colour = str


def graph_hash(flow: Flow, inputs: Iterable[Mapping[str, Any]], salt: str = "") -> str:
    """Hex SHA-256 of the structure of ``flow``.

    Args:
        inputs: Inputs of the signature; dynamic dimensions' names count by their equality only.
        salt: Further text that distinguishes networks.
    """
    names: dict[str, int] = {}
    described = [
        (tensor["dtype"], [_dimension(size, names) for size in tensor["shape"]])
        for tensor in inputs
    ]
    used = {step.op.rpartition("::")[0] or "ai.onnx" for step in flow.steps()}
    opsets = sorted((domain, v) for domain, v in flow.opsets.items() if domain in used)
    colours = {number: _hash("input", i) for i, number in enumerate(flow.main.inputs)}
    return _hash(_METHOD, salt, opsets, described, _body(flow, flow.main, colours))


def _body(flow: Flow, body: Body, outer: Mapping[int, Colour]) -> Colour:
    colours = dict(outer)
    down: dict[Step, Colour] = {}
    for step in body.steps:
        down[step] = _down(flow, step, colours)
        colours.update(
            (value, _hash(down[step], i))
            for i, value in enumerate(step.outputs)
            if value is not None
        )
    readers: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for i, value in enumerate(body.outputs):
        readers[value].append(("output", i))
    up = [_up(step, down[step], readers) for step in reversed(body.steps)]
    # Weights as well: one weight shared by two layers differs from two of equal shape.
    up += [
        _hash("constant", _constant(flow.constants[value]), sorted(uses))
        for value, uses in readers.items()
        if value in flow.constants
    ]
    outputs = [_operand(flow, value, colours, None) for value in body.outputs]
    return _hash(len(body.inputs), outputs, sorted(up))


def _down(flow: Flow, step: Step, colours: Mapping[int, Colour]) -> Colour:
    inner = []
    for name in sorted(step.bodies):
        body = step.bodies[name]
        inputs = {value: _hash("body input", i) for i, value in enumerate(body.inputs)}
        inner.append((name, _body(flow, body, {**colours, **inputs})))
    return _hash(
        step.op,
        len(step.outputs),
        sorted((name, _attribute(step.op, a)) for name, a in step.attributes.items()),
        [_operand(flow, value, colours, step) for value in step.inputs],
        inner,
    )


def _up(step: Step, down: Colour, readers: defaultdict[int, list[tuple[str, int]]]) -> Colour:
    colour = _hash(down, [sorted(readers[v]) if v is not None else None for v in step.outputs])
    for i, value in enumerate(step.inputs):
        if value is not None:
            readers[value].append((colour, i))
    for value in step.captured:
        readers[value].append((colour, -1))
    return colour


def _operand(
    flow: Flow, value: int | None, colours: Mapping[int, Colour], reader: Step | None
) -> Colour:
    if value is None:
        return "absent"
    constant = flow.constants.get(value)
    if constant is not None:
        return _hash("constant", _constant(constant), _structural_values(constant, reader))
    return colours.get(value, "undefined")


def _constant(constant: Constant) -> tuple[Any, ...]:
    return (name_of(constant.dtype), constant.shape, constant.overridable)


def _structural_values(constant: Constant, reader: Step | None) -> list[Any] | None:
    """Values of ``constant`` if they are part of the structure for ``reader``, else ``None``."""
    if constant.values is None:
        return None
    op = reader.op if reader else ""
    structural = (
        constant.dtype in _INTEGERS and not any(part in op for part in _QUANTISED)
    ) or op in _SHAPED_BY_REALS
    return constant.values.ravel().tolist() if structural else None


def _attribute(op: str, attribute: AttributeProto) -> Any:
    """The structural part of an attribute; the length of long lists and learned values."""
    read = _ATTRIBUTES.get(attribute.type)
    value = read(attribute) if read else attribute.type
    learned = op.startswith("ai.onnx.ml::") and attribute.type != AttributeProto.INTS
    if isinstance(value, list) and (learned or len(value) > _MANY):
        return len(value)
    return value


def _dimension(size: int | str, names: dict[str, int]) -> int | str:
    return size if isinstance(size, int) else f"open {names.setdefault(size, len(names))}"


def _hash(*parts: Any) -> Colour:
    # repr() of nested tuples, lists, strings, bytes and numbers is unambiguous.
    return hashlib.sha256(repr(parts).encode()).hexdigest()
