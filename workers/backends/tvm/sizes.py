"""Computes with sizes while a network is imported.

Exporters compute shapes, positions and masks from sizes: ``Shape``, ``Gather``, ``Add``, ``Equal``,
``Where``. TVM's importer follows some of these operators and leaves the others to run time, after
which it does not know the shapes that depend on them. Here they give expressions of the inputs'
sizes, which hold for any sizes::

    Shape [n, s] ─ Equal -1 ─ Where ─▶ [n, s]
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import ir, relax, te, tirx
from tvm.ir import GenericConst

from workers.backends.tvm.sizeoperators import (
    OPERATORS,
    UnknownSize,
    array_of,
    is_integer,
    plain,
)
from workers.engine.ports import Array

#: Elements of a constant that is taken for sizes.
_MOST = 64
#: TVM's pattern of a loop that it does not fuse (``relax.OpPatternKind.kOpaque``).
_OPAQUE = 8
#: Inputs that the importer takes as shapes or scalars, by operator.
SIZE_OPERANDS: dict[str, frozenset[int]] = {
    "ConstantOfShape": frozenset({0}),
    "Expand": frozenset({1}),
    "Range": frozenset({0, 1, 2}),
    "Reshape": frozenset({1}),
    "Resize": frozenset({2, 3}),
    "Shape": frozenset({0}),
    "Slice": frozenset({1, 2, 3, 4}),
    "Trilu": frozenset({1}),
}


def is_size(value: Any) -> bool:
    """Whether an imported value is a shape or an integer, not a tensor."""
    if isinstance(getattr(value, "ty", None), relax.ShapeType):
        return True
    return bool(ir.is_prim_expr(value)) and str(value.ty.dtype) == "int64"


def size_values(value: Any) -> Array | None:
    """Elements of an imported value (integers, booleans, expressions); ``None`` if not known."""
    if isinstance(value, relax.ShapeExpr):
        return array_of([plain(size) for size in value.values])
    if isinstance(value, GenericConst):
        shape, dtype = value.ty.shape, str(value.ty.dtype)
        if dtype not in {"int64", "bool"} or prod(int(size) for size in shape) > _MOST:
            return None
        return array_of(value.value.numpy())
    if is_size(value) and not isinstance(value.ty, relax.ShapeType):
        return array_of(plain(value))
    return None


def computed(op_name: str, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any | None:
    """The importer's form of what an operator computes of sizes; ``None`` if it is not known."""
    function = OPERATORS.get(op_name)
    values = [None if value is None else size_values(value) for value in inputs]
    pairs = zip(inputs, values, strict=True)
    if function is None or any(size is None and value is not None for value, size in pairs):
        return None
    try:
        return _imported(array_of(function(values, attributes)))
    # numpy's errors, of networks that are invalid: the importer words them better.
    except (UnknownSize, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def as_tensor(value: Any) -> Any:
    """A call that makes a tensor of an imported shape or scalar."""
    if isinstance(value.ty, relax.ShapeType):
        return relax.op.shape_to_tensor(value)
    return relax.op.reshape(relax.op.shape_to_tensor(relax.ShapeExpr([value])), ())


def legalize_shape_to_tensor(bb: Any, call: Any) -> Any:
    """``LegalizeOps``' conversion of ``shape_to_tensor``: a constant, or a loop of its own.

    Such a loop takes sizes as arguments. TVM fuses it with others like any loop, and its
    ``FuseTIR`` fails if one of them has a size that no argument has, such as ``arange``.
    """
    sizes = call.args[0].ty.values
    if sizes is None:
        return call
    if all(isinstance(size, tirx.IntImm) for size in sizes):
        return relax.const(np.array(list(map(int, sizes)), dtype="int64"), "int64")

    def tensor(*arguments: Any) -> Any:
        def element(index: Any) -> Any:
            chosen = tirx.const(0, "int64")
            for place, size in enumerate(arguments):
                chosen = tirx.if_then_else(index == place, size, chosen)
            return chosen

        return te.compute((len(arguments),), element, name="sizes")

    attributes = {"op_pattern": _OPAQUE}
    return bb.call_te(tensor, *sizes, primfunc_name_hint="sizes", primfunc_attrs=attributes)


def _imported(values: Array) -> Any:
    """A constant, shape or scalar with these elements."""
    elements = [plain(value) for value in values.ravel()]
    if all(map(is_integer, elements)):
        dtype = "bool" if elements and all(isinstance(e, bool) for e in elements) else "int64"
        return relax.const(np.array(elements, dtype=dtype).reshape(values.shape), dtype)
    if values.ndim > 1:
        raise UnknownSize
    return relax.ShapeExpr(elements) if values.ndim else elements[0]
