"""Our conversions of ONNX's operators to Relax, where those of TVM's importer are missing, wrong,
slow, or need sizes to be constant.

Each returns ``None`` to leave an operator to the importer.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import isnan
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.ir import GenericConst, Op

from workers.backends.tvm.recurrent import Recurrence
from workers.backends.tvm.sizeoperators import is_integer, is_proved, plain
from workers.backends.tvm.sizes import is_size, size_values
from workers.engine.errors import InvalidCandidate

_SHAPE_TO_TENSOR = Op.get("relax.shape_to_tensor")
_IMAGE_RANK = 4
RECURRENT = {"LSTM": Recurrence.lstm, "GRU": Recurrence.gru}


def convert(bb: Any, op_name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Our conversion of an operator; ``None`` to use the importer's. May replace ``inputs``."""
    if op_name in RECURRENT:
        return RECURRENT[op_name](Recurrence(bb, inputs, attrs))
    function = _CONVERSIONS.get(op_name)
    return None if function is None else function(bb, inputs, attrs)


def _dropout(_: Any, inputs: list[Any], attrs: Mapping[str, Any]) -> Any:
    # The importer copies the input, and creates a mask that ConvertLayout fails on.
    return inputs[0] if attrs["tvm_custom"]["num_outputs"] == 1 else None


def _sum(bb: Any, inputs: list[Any], _: Mapping[str, Any]) -> Any:
    # The importer stacks all inputs in memory first.
    return reduce(lambda one, other: bb.normalize(relax.op.add(one, other)), inputs)


def _gather(bb: Any, inputs: list[Any], attrs: Mapping[str, Any]) -> Any:
    """Gather along an axis of known size, or at constant indices. The importer adds the size to
    negative indices by operations that read it at run time; ``FoldConstant`` compiles each."""
    data, indices = inputs
    shape, axis = getattr(data.ty, "shape", None), attrs.get("axis", 0)
    if shape is None or is_size(data) or is_size(indices):
        return None
    size, dtype = plain(shape[axis]), str(indices.ty.dtype)
    if not isinstance(indices, GenericConst):
        if not is_integer(size):
            return None
        from_end = bb.normalize(relax.op.add(indices, relax.const(size, dtype)))
        is_negative = bb.normalize(relax.op.less(indices, relax.const(0, dtype)))
        return relax.op.take(
            data, bb.normalize(relax.op.where(is_negative, from_end, indices)), axis
        )
    places = indices.value.numpy()
    if is_integer(size):
        places = np.where(places < 0, places + size, places)
    if isinstance(data, GenericConst) or (places < 0).any():
        return None
    return relax.op.take(data, relax.const(places, dtype), axis)


def _gemm(_: Any, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Gemm for the importer, with a constant second factor as it is multiplied: ``FoldConstant``
    compiles its transposition."""
    factor = inputs[1]
    if attrs.get("transB") and isinstance(factor, GenericConst):
        transposed = np.ascontiguousarray(factor.value.numpy().transpose())
        inputs[1] = relax.const(transposed, str(factor.ty.dtype))
        attrs["transB"] = 0
    return None


def _resize(_: Any, inputs: list[Any], attrs: Mapping[str, Any]) -> Any:
    """Resize of images to sizes that depend on the inputs; the importer takes constant sizes."""
    inputs[3:] = map(_fixed_sizes, inputs[3:])
    sizes = inputs[3] if len(inputs) > 3 else None
    if not isinstance(sizes, relax.ShapeExpr) or len(sizes) != _IMAGE_RANK or inputs[1] is not None:
        return None

    def named(name: str, default: str) -> str:
        return str(attrs.get(name, default.encode()).decode())

    mode = named("mode", "nearest")
    return relax.op.image.resize2d(
        inputs[0],
        size=relax.ShapeExpr(sizes.values[2:]),
        roi=[0.0] * _IMAGE_RANK,
        layout="NCHW",
        method="nearest_neighbor" if mode == "nearest" else mode,
        coordinate_transformation_mode=named("coordinate_transformation_mode", "half_pixel"),
        rounding_method=named("nearest_mode", "round_prefer_floor"),
        cubic_alpha=attrs.get("cubic_coeff_a", -0.75),
        cubic_exclude=attrs.get("exclude_outside", 0),
        extrapolation_value=attrs.get("extrapolation_value", 0.0),
    )


def _slice(_: Any, inputs: list[Any], __: Mapping[str, Any]) -> Any:
    """Slice of a value whose size depends on the inputs; the importer makes an expression of its
    limits that is not simplified."""
    value, *operands = inputs
    shape = getattr(value.ty, "shape", None)
    parts = [None if operand is None else size_values(operand) for operand in operands]
    if shape is None or len(parts) < 2 or parts[0] is None or parts[1] is None:
        return None
    starts, ends = (list(limits.ravel()) for limits in parts[:2] if limits is not None)
    leading = list(range(len(starts)))
    axes = leading if len(parts) < 3 or parts[2] is None else [int(axis) for axis in parts[2]]
    axes = [axis % len(shape) for axis in axes]
    if len(parts) > 3 and (parts[3] is None or any(step != 1 for step in parts[3].ravel())):
        return None
    sizes = [plain(shape[axis]) for axis in axes]
    if all(map(is_integer, [*starts, *ends, *sizes])):
        return None
    limits = [
        (_limit(start, size), _limit(end, size))
        for start, end, size in zip(starts, ends, sizes, strict=True)
    ]
    if any(a is None or b is None or not is_proved(b, a, operator.ge) for a, b in limits):
        return None
    begin, end = zip(*limits, strict=True)
    return relax.op.strided_slice(value, axes, list(begin), list(end), assume_inbound=True)


def _limit(limit: Any, size: Any) -> Any:
    """A limit of a slice, between 0 and the size; ``None`` if not known."""
    if is_integer(limit) and limit < 0:
        limit = size + limit
    if is_proved(limit, size, operator.ge):
        return size
    is_inside = is_proved(limit, 0, operator.ge) and is_proved(limit, size, operator.le)
    return limit if is_inside else None


def _fixed_sizes(sizes: Any) -> Any:
    """The sizes that Resize takes, as a constant: the importer needs all of them to be known, but
    reads only those of the image."""
    if not isinstance(sizes, relax.ShapeExpr):
        return sizes
    batch_and_channels, image = sizes.values[:2], sizes.values[2:]
    if not all(isinstance(size, tirx.IntImm) for size in image):
        return sizes
    ignored = [0] * len(batch_and_channels)
    return relax.const([*ignored, *map(int, image)], "int64")


def _clip(bb: Any, inputs: list[Any], attrs: Mapping[str, Any]) -> Any:
    """Clip that propagates NaN; ``None`` if bounds are not constant or NaN. The importer passes
    the value as first operand of maximum and minimum, which drops NaN."""
    value, *limits = inputs
    dtype = value.ty.dtype
    bounds = []
    for name, bound in zip(("min", "max"), (*limits, None, None), strict=False):
        number = attrs.get(name) if bound is None else bound
        if isinstance(number, GenericConst):
            number = number.value.numpy().item()
        if not isinstance(number, float | None) or (number is not None and isnan(number)):
            return None
        bounds.append(number)
    for bound, limit in zip(bounds, (relax.op.maximum, relax.op.minimum), strict=True):
        if bound is not None:
            value = bb.normalize(limit(relax.const(bound, dtype), value))
    return value


def _expand(_: Any, inputs: list[Any], __: Mapping[str, Any]) -> Any:
    """Expand to a known shape; the importer does not compare sizes that are no constants."""
    value, target = inputs
    shape, sizes = value.ty.shape, size_values(target)
    if shape is None or sizes is None:
        return None
    result = _expanded(list(shape), list(sizes))
    if result is None:
        raise InvalidCandidate(f"which sizes are 1 decides how {shape} becomes {target}")
    if len(result) == len(shape) and all(map(_is_same, result, shape)):
        return value
    return relax.op.broadcast_to(value, relax.ShapeExpr(result))


def _expanded(shape: Sequence[Any], target: Sequence[Any]) -> list[Any] | None:
    """The shape of the result of Expand; ``None`` if it depends on which sizes are 1."""
    rank = max(len(shape), len(target))
    result = []
    for one, other in zip(_padded(shape, rank), _padded(target, rank), strict=True):
        if is_integer(one) and one == 1:
            result.append(other)
        elif (is_integer(other) and other == 1) or _is_same(one, other):
            result.append(one)
        else:
            return None
    return result


def _is_same(one: Any, other: Any) -> bool:
    return is_proved(plain(one), plain(other), operator.eq)


def _padded(shape: Sequence[Any], rank: int) -> list[Any]:
    return [1] * (rank - len(shape)) + [plain(size) for size in shape]


def _range(_: Any, inputs: list[Any], __: Mapping[str, Any]) -> Any:
    """A range of sizes, whose length is known; the importer computes it at run time."""
    values = [size_values(value) for value in inputs]
    limits = [value.item() for value in values if value is not None and value.size == 1]
    if len(limits) != len(inputs) or all(map(is_integer, limits)):
        return None
    start, limit, step = limits
    if not is_integer(step) or step != 1 or not is_proved(limit, start, operator.ge):
        return None
    return relax.op.arange(start, limit, step, "int64")


def _tile(bb: Any, inputs: list[Any], _: Mapping[str, Any]) -> Any:
    """Tile as often as sizes say; the importer computes the shape at run time."""
    value, repeats = inputs
    # The importer passes no shapes to Tile, only tensors.
    made = bb.lookup_binding(repeats) if isinstance(repeats, relax.Var) else None
    if not isinstance(made, relax.Call) or made.op != _SHAPE_TO_TENSOR:
        return None
    shape, counts = value.ty.shape, size_values(made.args[0])
    if shape is None or counts is None or len(shape) != len(counts):
        return None
    pairs = list(zip(counts, shape, strict=True))
    value = bb.normalize(relax.op.reshape(value, [n for _, size in pairs for n in (1, size)]))
    value = bb.normalize(relax.op.broadcast_to(value, [n for pair in pairs for n in pair]))
    return relax.op.reshape(value, [count * size for count, size in pairs])


_CONVERSIONS: dict[str, Callable[[Any, list[Any], dict[str, Any]], Any]] = {
    "Clip": _clip,
    "Dropout": _dropout,
    "Expand": _expand,
    "Gather": _gather,
    "Gemm": _gemm,
    "Range": _range,
    "Resize": _resize,
    "Slice": _slice,
    "Sum": _sum,
    "Tile": _tile,
}
