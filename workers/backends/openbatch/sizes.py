"""Sizes of all values of a graph at one row and at several, and where the batch is in each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, shape_inference

from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array

#: Rows of the second inference. A prime, so that no product of other sizes looks like it.
ROWS = 7
#: Elements of a constant whose value decides sizes.
_MOST_ELEMENTS = 64

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BatchPosition:
    """Where the batch is in a value.

    Attributes:
        axis: The axis whose size grows with the batch.
        before: Elements of that axis that come before the batch in memory: 1 where the batch is
            its outer factor, as in ``batch * heads``, the size of the axis where it is the inner.
    """

    axis: int
    before: int = 1


@dataclass(slots=True)
class GraphSizes:
    """What is known of the values so far, in topological order.

    Attributes:
        one, several: Sizes for one row and for :data:`ROWS`; without what is no tensor.
        positions: Of the values that grow with the batch.
        constants: Values of small constants.
    """

    opsets: Mapping[str, int]
    one: dict[str, onnx.TypeProto] = field(default_factory=dict)
    several: dict[str, onnx.TypeProto] = field(default_factory=dict)
    positions: dict[str, BatchPosition] = field(default_factory=dict)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def add_input(self, value: onnx.ValueInfoProto) -> None:
        """Add an input, whose first dimension is the batch. Raises InvalidCandidate."""
        kind, sizes = value.type.tensor_type.elem_type, _sizes(value.type)
        if sizes is None or sizes[:1] != (1,):
            raise InvalidCandidate(f"input {value.name} has open dimensions, or more than one row")
        self.one[value.name] = value.type
        several = (ROWS, *sizes[1:])
        self.several[value.name] = helper.make_tensor_type_proto(kind, several)
        self.positions[value.name] = BatchPosition(0)

    def add_constant(self, tensor: onnx.TensorProto, name: str) -> None:
        """Add a constant."""
        kind = helper.make_tensor_type_proto(tensor.data_type, tuple(tensor.dims))
        self.one[name] = self.several[name] = kind
        if prod(tensor.dims) <= _MOST_ELEMENTS:
            self.constants[name] = tensor

    def constant(self, name: str) -> Array:
        """A small constant; raises InvalidCandidate if the value is none."""
        if name not in self.constants:
            raise InvalidCandidate(f"{name}, which decides sizes, is not constant")
        return numpy_helper.to_array(self.constants[name])

    def sizes(self, name: str) -> Sizes:
        """Sizes of a value for one row; raises InvalidCandidate if they are unknown."""
        sizes = _sizes(self.one[name]) if name in self.one else None
        if sizes is None:
            raise InvalidCandidate(f"the sizes of {name} are unknown")
        return sizes

    def inferred(self, node: onnx.NodeProto) -> Sizes:
        """Sizes of a node's first output for one row, as inferred now. Raises InvalidCandidate."""
        sizes = _sizes(self._infer(node, self.one)[node.output[0]])
        if sizes is None:
            raise InvalidCandidate(f"the sizes of {node.output[0]} are unknown")
        return sizes

    def add_batched(self, name: str, like: str, one: Sizes, axis: int) -> None:
        """Add a value of the element type of ``like`` with the batch at ``axis``."""
        kind = self.one[like].tensor_type.elem_type
        several = tuple(ROWS if each == axis else size for each, size in enumerate(one))
        self.one[name] = helper.make_tensor_type_proto(kind, one)
        self.several[name] = helper.make_tensor_type_proto(kind, several)
        self.positions[name] = BatchPosition(axis)

    def _infer(
        self, node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto]
    ) -> dict[str, onnx.TypeProto]:
        """Types of a node's outputs. Raises InvalidCandidate if its inputs do not fit, or ONNX does
        not know the operator."""
        names = [name for name in node.input if name]
        if node.domain not in self.opsets:
            raise InvalidCandidate(f"{node.op_type} is of an unknown domain")
        try:
            schema = defs.get_schema(node.op_type, self.opsets[node.domain], node.domain)
            return shape_inference.infer_node_outputs(
                schema,
                node,
                {name: types[name] for name in names},
                {name: self.constants[name] for name in names if name in self.constants},
                opset_imports=[helper.make_opsetid(*each) for each in self.opsets.items()],
            )
        except (KeyError, RuntimeError, ValueError, defs.SchemaError) as error:
            text = " ".join(str(error).split())
            raise InvalidCandidate(f"{node.op_type} {node.name} takes no batch: {text}") from error

    def add_outputs(self, node: onnx.NodeProto) -> None:
        """Infer a node's outputs and where the batch is in them. Raises InvalidCandidate."""
        one, several = self._infer(node, self.one), self._infer(node, self.several)
        self.one |= one
        self.several |= several
        if not any(name in self.positions for name in node.input):
            return
        for name in filter(None, node.output):
            if name in one and one[name].HasField("tensor_type"):
                self._place(node, name, self.sizes(name))
            else:
                raise InvalidCandidate(f"the sizes of {name} are unknown")

    def _place(self, node: onnx.NodeProto, name: str, one: Sizes) -> None:
        several = _sizes(self.several[name])
        if several is None or len(several) != len(one):
            raise InvalidCandidate(f"the sizes of {name} in batches are unknown")
        axes = [axis for axis, size in enumerate(one) if several[axis] != size]
        if not axes:
            return
        if len(axes) > 1 or several[axes[0]] != ROWS * one[axes[0]]:
            raise InvalidCandidate(f"{node.op_type} {node.name} does not compute row by row")
        (axis,) = axes
        inner = any(
            self.positions[each].before > 1
            and self.sizes(each)[self.positions[each].axis] == one[axis]
            for each in node.input
            if each in self.positions
        )
        self.positions[name] = BatchPosition(axis, one[axis] if inner else 1)


def position_after(sizes: Sizes, position: BatchPosition, result: Sizes) -> BatchPosition:
    """Where the batch is after a ``Reshape`` of ``sizes`` to ``result``, both for one row. Elements
    keep their order. Raises InvalidCandidate if it is inside of an axis."""
    before = prod(sizes[: position.axis]) * position.before
    behind = sizes[position.axis + 1 :]
    passed = np.cumprod((1, *result)).tolist()
    ends = [axis for axis, count in enumerate(passed) if count == before]
    if not ends:
        raise InvalidCandidate("the batch comes to lie inside of another dimension")
    for axis in ends:
        if axis < len(result) and result[axis] == 1:
            return BatchPosition(axis)
    axis = ends[0]
    # Between two dimensions it joins the one that changes: (T, 1, E) to (T, E) is T * batch rows
    # of E features, to (T, heads, E / heads) it is batch * heads.
    is_kept = axis == len(result) or behind[:1] == result[axis : axis + 1]
    if axis > 0 and is_kept:
        return BatchPosition(axis - 1, result[axis - 1])
    return BatchPosition(axis)


def _sizes(kind: onnx.TypeProto) -> Sizes | None:
    """Sizes of a tensor; ``None`` if not all are known."""
    tensor = kind.tensor_type
    if not kind.HasField("tensor_type") or not tensor.HasField("shape"):
        return None
    dimensions = tensor.shape.dim
    if not all(each.HasField("dim_value") for each in dimensions):
        return None
    return tuple(each.dim_value for each in dimensions)
