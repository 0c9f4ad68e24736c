"""Rewrites the graph of a network of one row for any number of rows.

The inputs' first dimension becomes open. What exporters computed from the size one is changed where
the batch passes:

- the shape of a ``Reshape``: the dimension that the batch joins becomes the one that is inferred;
- constants beside the batch in a ``Concat``, such as a class token, and initial states of recurrent
  layers are repeated for each row;
- the ``sizes`` of a ``Resize`` take those of its input.

Where the batch is in each value follows from inference at two numbers of rows. Whether the result
computes the same is not decided here.
"""

from collections.abc import Callable, Collection
from itertools import count
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from workers.backends.openbatch.sizes import BatchPosition, GraphSizes, position_after
from workers.engine.errors import InvalidCandidate

#: Inputs of recurrent layers that have a batch: lengths of sequences, initial states.
_STATES = {"LSTM": {4: 0, 5: 1, 6: 1}, "GRU": {4: 0, 5: 1}, "RNN": {4: 0, 5: 1}}
_RESIZED = 3


class BatchRewriter:
    """Rewrites a copy of one model. ``changes`` counts the changes by operator."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = onnx.ModelProto()
        self._model.CopyFrom(model)
        opsets = {each.domain: each.version for each in model.opset_import}
        self._sizes = GraphSizes(opsets)
        self._nodes: list[onnx.NodeProto] = []
        self._used = {name for node in model.graph.node for name in (*node.input, *node.output)}
        self._used |= {tensor.name for tensor in model.graph.initializer}
        self.changes: dict[str, int] = {}

    def model(self, inputs: Collection[str], symbol: str) -> onnx.ModelProto:
        """The model with an open batch in ``inputs`` and all outputs, named ``symbol``. Raises
        InvalidCandidate if there is no such network."""
        graph = self._model.graph
        for tensor in graph.initializer:
            self._sizes.add_constant(tensor, tensor.name)
        for value in graph.input:
            if value.name in inputs:
                self._sizes.add_input(value)
        for node in list(graph.node):
            self._add(node)
        del graph.node[:], graph.value_info[:]
        graph.node.extend(self._nodes)
        for value in graph.output:
            if self._sizes.positions.get(value.name) != BatchPosition(0):
                raise InvalidCandidate(f"output {value.name} does not have a row for each input")
        opened = [value for value in graph.input if value.name in inputs]
        for value in (*opened, *graph.output):
            value.type.tensor_type.shape.dim[0].dim_param = symbol
        return self._model

    def _add(self, node: onnx.NodeProto) -> None:
        sizes = self._sizes
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            sizes.add_constant(node.attribute[0].t, node.output[0])
            self._nodes.append(node)
            return
        batched = [name for name in node.input if name in sizes.positions]
        if batched and any(each.type in _GRAPHS for each in node.attribute):
            raise InvalidCandidate(f"{node.op_type} {node.name} contains a graph")
        # The batch is in the data, not in what describes sizes.
        change = _CHANGES.get(node.op_type) if batched else None
        joined = change(self, node) if change is not None else None
        if joined is None or node.op_type != "Resize":
            sizes.add_outputs(node)
        if joined is not None:
            sizes.positions[node.output[0]] = joined
        self._nodes.append(node)

    def _count(self, node: onnx.NodeProto) -> None:
        self.changes[node.op_type] = self.changes.get(node.op_type, 0) + 1

    def _reshape(self, node: onnx.NodeProto) -> BatchPosition | None:
        """Let the size that the batch joins be inferred."""
        sizes, source = self._sizes, node.input[0]
        sizes.constant(node.input[1])
        result = sizes.inferred(node)
        if 0 in result:
            raise InvalidCandidate(f"Reshape {node.name} is of an empty value")
        joined = position_after(sizes.sizes(source), sizes.positions[source], result)
        shape = [-1 if axis == joined.axis else size for axis, size in enumerate(result)]
        node.input[1] = self._constant(node.input[1], shape)
        self._count(node)
        return joined

    def _concat(self, node: onnx.NodeProto) -> BatchPosition | None:
        """Repeat what has no batch beside what has one."""
        sizes = self._sizes
        like = next(name for name in node.input if name in sizes.positions)
        axis = sizes.positions[like].axis
        for index, name in enumerate(node.input):
            if name not in sizes.positions:
                node.input[index] = self._repeated(name, like, axis)
                self._count(node)
        return None

    def _recurrent(self, node: onnx.NodeProto) -> BatchPosition | None:
        """Repeat initial states; the input is ``[time, batch, features]``."""
        for index, axis in _STATES[node.op_type].items():
            name = node.input[index] if index < len(node.input) else ""
            if name and name not in self._sizes.positions:
                node.input[index] = self._repeated(name, node.input[0], axis)
                self._count(node)
        return None

    def _resize(self, node: onnx.NodeProto) -> BatchPosition | None:
        """Take the batch's size from the input."""
        sizes, source = self._sizes, node.input[0]
        if len(node.input) <= _RESIZED or not node.input[_RESIZED]:
            return None
        result = sizes.inferred(node)
        position = sizes.positions[source]
        shape = list(map(int, sizes.constant(node.input[_RESIZED])))
        if len(shape) != len(result) or result[position.axis] != 1:
            raise InvalidCandidate(f"Resize {node.name} changes the batch")
        node.input[_RESIZED] = self._shape_like(source, position.axis, shape, position.axis)
        sizes.add_batched(node.output[0], source, result, position.axis)
        self._count(node)
        return position

    def _repeated(self, name: str, like: str, axis: int) -> str:
        """A value with one row along ``axis`` for each row of ``like``."""
        sizes, position = self._sizes, self._sizes.positions.get(like)
        one = list(sizes.sizes(name))
        if position is None or sizes.sizes(like)[position.axis] != 1 or one[axis : axis + 1] != [1]:
            raise InvalidCandidate(f"{name} cannot be repeated for each row")
        shape = self._shape_like(like, position.axis, one, axis)
        repeated = self._new("Expand", [name, shape], name)
        sizes.add_batched(repeated, name, tuple(one), axis)
        return repeated

    def _shape_like(self, like: str, axis_of_like: int, sizes: list[int], axis: int) -> str:
        """``sizes`` as a value whose number at ``axis`` is that of ``like`` at ``axis_of_like``."""
        shape = self._new("Shape", [like], like)
        index = self._constant(like, [axis_of_like])
        parts = [self._new("Gather", [shape, index], like, axis=0)]
        if before := sizes[:axis]:
            parts.insert(0, self._constant(like, before))
        if behind := sizes[axis + 1 :]:
            parts.append(self._constant(like, behind))
        return self._new("Concat", parts, like, axis=0)

    def _new(self, operator: str, inputs: list[str], like: str, **attributes: Any) -> str:
        name = self._fresh(like)
        self._nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def _constant(self, like: str, values: list[int]) -> str:
        name = self._fresh(like)
        tensor = numpy_helper.from_array(np.array(values, np.int64), name)
        self._model.graph.initializer.append(tensor)
        self._sizes.add_constant(tensor, name)
        return name

    def _fresh(self, like: str) -> str:
        """An unused name, derived from ``like``."""
        number = next(n for n in count(1) if f"{like}/batch_{n}" not in self._used)
        self._used.add(f"{like}/batch_{number}")
        return f"{like}/batch_{number}"


#: Changes of operators by type; each returns where the batch is in the result, or ``None`` to
#: leave that to inference.
_CHANGES: dict[str, Callable[[BatchRewriter, onnx.NodeProto], BatchPosition | None]] = {
    "Reshape": BatchRewriter._reshape,  # noqa: SLF001
    "Concat": BatchRewriter._concat,  # noqa: SLF001
    "Resize": BatchRewriter._resize,  # noqa: SLF001
    **dict.fromkeys(_STATES, BatchRewriter._recurrent),  # noqa: SLF001
}
_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
