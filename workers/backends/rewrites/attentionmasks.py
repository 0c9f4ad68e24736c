"""Prepares what is added to the scores of attention for the fused operator.

The operator takes one bias of four axes. It repeats it along batch and heads, but not along
positions. Layers that share a mask share what is made of it.

PyTorch replaces NaN behind a softmax by zero, because a row whose positions are all hidden is
0 / 0. The weights of such a row are zero, so that its result is zero, or NaN if a value is. Here a
hidden row is shown, and its result is multiplied by zero, which is the same. Replacing NaN behind
the operator would also hide NaN of the network's input.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.attentionparts import HEADS_FIRST, Attention, Operand
from workers.backends.rewrites.graph import EditableGraph
from workers.engine.ports import Array

_Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Mask:
    """A mask for the fused operator.

    Attributes:
        bias: Name of what is added to scores: float32, [batch or 1, heads or 1, length of queries,
            length of keys].
        shown: Name of zeros for hidden rows and ones for others: float32, [batch or 1, length or
            1, heads or 1, 1]; empty if no row is hidden.
    """

    bias: str
    shown: str = ""


@dataclass
class Masks:
    """The masks of a network. New nodes are in ``nodes`` until the caller takes them."""

    graph: EditableGraph
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    _made: dict[tuple[object, ...], tuple[Mask, _Shape]] = field(default_factory=dict)
    _expanded: dict[tuple[object, ...], Mask] = field(default_factory=dict)

    def of(self, attention: Attention) -> Mask | None:
        """The mask of an attention; ``None`` if it has none."""
        if not attention.biases:
            return None
        whole = (attention.biases, attention.is_guarded)
        if whole not in self._made:
            self._made[whole] = self._make(attention)
        made, shape = self._made[whole]
        lengths = (attention.queries.shape[2], attention.keys.shape[2])
        if shape[2:] == lengths:
            return made
        if (*whole, lengths) not in self._expanded:
            bias = self._add("Expand", [made.bias, self._target(attention)])
            self._expanded[(*whole, lengths)] = Mask(bias, made.shown)
        return self._expanded[(*whole, lengths)]

    def take(self) -> list[onnx.NodeProto]:
        """The new nodes, which must run before the attention of the last mask."""
        nodes, self.nodes = self.nodes, []
        return nodes

    def _make(self, attention: Attention) -> tuple[Mask, _Shape]:
        """The mask without repeated rows and columns, and the shape of its bias."""
        first, *others = attention.biases
        bias, shape = self._deep(first)
        for other in others:
            name, sizes = self._deep(other)
            bias = self._add("Add", [bias, name])
            pairs = zip(shape, sizes, strict=True)
            shape = tuple(a if b in {a, 1} else b if a == 1 else "?" for a, b in pairs)
        mask = self._guarded(bias) if attention.is_guarded else Mask(bias)
        return mask, shape

    def _deep(self, name: str) -> tuple[str, _Shape]:
        """A bias with four axes, and its shape."""
        shape = self.graph.shape(name) or ()
        missing = 4 - len(shape)
        if not missing:
            return name, shape
        constant = self.graph.constant(name)
        if constant is None:
            axes = self._constant(np.arange(missing))
            name = self._add("Unsqueeze", [name, axes])
        else:
            name = self._constant(constant[(np.newaxis,) * missing])
        return name, (1,) * missing + shape

    def _target(self, attention: Attention) -> str:
        """Name of the shape [1, 1, length of queries, length of keys]."""
        parts: list[str | int] = [1, 1]
        parts += [self._length(each) for each in (attention.queries, attention.keys)]
        numbers = [part for part in parts if isinstance(part, int)]
        if len(numbers) == len(parts):
            return self._constant(np.array(parts))
        names = [p if isinstance(p, str) else self._constant(np.array([p])) for p in parts]
        return self._add("Concat", names, axis=0)

    def _length(self, operand: Operand) -> int | str:
        """The length of an operand, or the name of a value [1] with it."""
        if isinstance(operand.shape[2], int):
            return operand.shape[2]
        axis = 1 if operand.rows else 2
        shape = self._add("Shape", [operand.rows or operand.heads])
        return self._add("Gather", [shape, self._constant(np.array([axis]))], axis=0)

    def _guarded(self, bias: str) -> Mask:
        """A mask that shows which rows are hidden."""
        constant = self.graph.constant(bias)
        if constant is not None and not (constant == -np.inf).all(axis=-1).any():
            return Mask(bias)
        is_hidden = self._add("Equal", [bias, self._constant(np.array(-np.inf, np.float32))])
        seen = self._add("Cast", [self._add("Not", [is_hidden])], to=onnx.TensorProto.FLOAT)
        count = self._add("ReduceSum", [seen, self._constant(np.array([-1]))], keepdims=1)
        zero, one = (self._constant(np.array(value, np.float32)) for value in (0, 1))
        shown = self._add("Min", [count, one])
        # Any weights do where the result is multiplied by zero.
        visible = self._add("Where", [self._add("Equal", [shown, zero]), zero, bias])
        return Mask(visible, self._add("Transpose", [shown], perm=HEADS_FIRST))

    def _constant(self, value: Array) -> str:
        return self.graph.add_constant("attention", value)

    def _add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        output = self.graph.fresh(inputs[0])
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output
