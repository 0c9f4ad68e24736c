"""Operators on sizes, in arrays of integers, booleans and expressions of the inputs' sizes.

Results hold for all sizes. Comparisons that some sizes meet and others do not are unknown.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from onnx import TensorProto
from tvm import ir, sym, tirx

from workers.engine.ports import Array

#: No size is as large.
_LARGEST = 2**31


class UnknownSize(Exception):
    """What an operator computes is not known for all sizes, or not computed here."""


def plain(value: Any) -> Any:
    """An integer in place of a constant expression."""
    return int(value) if isinstance(value, tirx.IntImm) else value


def is_integer(value: Any) -> bool:
    return isinstance(value, int)


def array_of(values: Any) -> Array:
    """An array of Python's integers and booleans, and expressions."""
    if isinstance(values, np.ndarray):
        return values.astype(object)
    elements = values if isinstance(values, list) else [values]
    array = np.empty(len(elements), dtype=object)
    for index, element in enumerate(elements):
        array[index] = element
    return array if isinstance(values, list) else array.reshape(())


def is_proved(one: Any, other: Any, relation: Callable[[Any, Any], Any]) -> bool:
    """Whether a relation holds for all sizes of the inputs."""
    if is_integer(one) and is_integer(other):
        return bool(relation(one, other))
    difference = one - other
    if is_integer(difference):
        return bool(relation(difference, 0))
    analyzer = sym.Analyzer()
    # Loops of TVM do not run on empty tensors.
    size = ir.Range.from_min_extent(tirx.const(1, "int64"), tirx.const(_LARGEST, "int64"))
    for variable in tirx.analysis.undefined_vars(difference, []):
        analyzer.bind(variable, size)
    bound = analyzer.const_int_bound(analyzer.simplify(difference))
    low, high = bound.min_value, bound.max_value
    return bool(
        {
            operator.eq: low == high == 0,
            operator.ne: low > 0 or high < 0,
            operator.ge: low >= 0,
            operator.gt: low > 0,
            operator.le: high <= 0,
            operator.lt: high < 0,
        }[relation]
    )


_OPPOSITES = {
    operator.eq: operator.ne,
    operator.lt: operator.ge,
    operator.le: operator.gt,
    operator.gt: operator.le,
    operator.ge: operator.lt,
}


def _compared(relation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def compare(one: Any, other: Any) -> bool:
        if is_proved(one, other, relation):
            return True
        if is_proved(one, other, _OPPOSITES[relation]):
            return False
        raise UnknownSize

    return compare


def _divided(one: Any, other: Any) -> Any:
    """A quotient, which ONNX rounds towards zero."""
    if not is_integer(other) or other <= 0 or not is_proved(one, 0, operator.ge):
        raise UnknownSize
    return _simplified(one // other if is_integer(one) else tirx.floordiv(one, other))


def _remainder(one: Any, other: Any) -> Any:
    if not is_integer(other) or other <= 0 or not is_proved(one, 0, operator.ge):
        raise UnknownSize
    return _simplified(one % other if is_integer(one) else tirx.floormod(one, other))


def _simplified(value: Any) -> Any:
    return value if is_integer(value) else plain(sym.Analyzer().simplify(value))


def _larger(one: Any, other: Any) -> Any:
    return one if _compared(operator.ge)(one, other) else other


def _smaller(one: Any, other: Any) -> Any:
    return one if _compared(operator.le)(one, other) else other


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that calls ``function`` for each element of its broadcast inputs."""
    return lambda inputs, _: np.frompyfunc(function, len(inputs), 1)(*inputs)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda inputs, _: reduce(np.frompyfunc(function, 2, 1), inputs)


def _axes(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Axes from the second input or, in old opsets, the attribute; ``None`` if there are none."""
    axes = inputs[1] if len(inputs) > 1 else attributes.get("axes")
    return None if axes is None else tuple(map(int, axes))


def _gather(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    values, indices = inputs
    return np.take(values, indices.astype(np.int64), axis=attributes.get("axis", 0))


def _slice(inputs: Sequence[Any], _: Mapping[str, Any]) -> Any:
    values, *limits = inputs
    if values.ndim != 1:
        raise UnknownSize
    start, end = (int(limit.item()) for limit in limits[:2])
    step = 1 if len(limits) < 4 or limits[3] is None else int(limits[3].item())
    return values[start:end:step]


def _reshape(inputs: Sequence[Any], _: Mapping[str, Any]) -> Any:
    shape = [int(size) for size in inputs[1]]
    if 0 in shape:
        raise UnknownSize
    return inputs[0].reshape(shape)


def _cast(inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    if attributes["to"] != TensorProto.INT64:
        raise UnknownSize
    return np.frompyfunc(lambda value: int(value) if is_integer(value) else value, 1, 1)(inputs[0])


OPERATORS: dict[str, Callable[[Sequence[Any], Mapping[str, Any]], Any]] = {
    "Add": _elementwise(operator.add),
    "Sub": _elementwise(operator.sub),
    "Mul": _elementwise(operator.mul),
    "Div": _elementwise(_divided),
    "Mod": _elementwise(_remainder),
    "Neg": _elementwise(operator.neg),
    "Max": _reduced(_larger),
    "Min": _reduced(_smaller),
    "Equal": _elementwise(_compared(operator.eq)),
    "Less": _elementwise(_compared(operator.lt)),
    "LessOrEqual": _elementwise(_compared(operator.le)),
    "Greater": _elementwise(_compared(operator.gt)),
    "GreaterOrEqual": _elementwise(_compared(operator.ge)),
    "Not": _elementwise(operator.not_),
    "Where": _elementwise(lambda condition, one, other: one if condition else other),
    "Gather": _gather,
    "Slice": _slice,
    "Concat": lambda inputs, _: np.concatenate(inputs),
    "Unsqueeze": lambda inputs, each: np.expand_dims(inputs[0], _axes(inputs, each) or ()),
    "Squeeze": lambda inputs, each: np.squeeze(inputs[0], _axes(inputs, each)),
    "Reshape": _reshape,
    "Identity": lambda inputs, _: inputs[0],
    "Cast": _cast,
}
