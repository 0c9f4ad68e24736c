"""An ONNX graph with its edges at hand, for rewriting."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from workers.engine.ports import Array


class Network:
    """A model and who makes and takes each of its values. Rewrites go through its methods.

    Values that a subgraph takes from around it, and outputs of the graph, count as taken by
    ``None``: nobody can rewrite those takers.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = shape_inference.infer_shapes(model, data_prop=True)
        graph = self._model.graph
        # Copies in a list of our own: the graph's are copied whenever they move.
        self.nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        known = (*graph.input, *graph.value_info, *graph.output)
        self._shapes = {value.name: _shape(value) for value in known}
        self._names = {*self._constants, *self._shapes}
        self._names |= {name for node in self.nodes for name in (*node.input, *node.output)}
        self.refresh()

    def model(self) -> onnx.ModelProto:
        """The model as it is now, without constants that nobody takes."""
        graph = self._model.graph
        kept = [tensor for name, tensor in self._constants.items() if self.takers.get(name)]
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(kept)
        return self._model

    def refresh(self) -> None:
        """Find all edges anew, after nodes were put in or taken out."""
        self.makers: dict[str, onnx.NodeProto] = {}
        self.takers: dict[str, list[onnx.NodeProto | None]] = defaultdict(list)
        for node in self.nodes:
            self.makers.update(dict.fromkeys(filter(None, node.output), node))
            for name in filter(None, node.input):
                self.takers[name].append(node)
            for name in _taken_inside(node):
                self.takers[name].append(None)
        for value in self._model.graph.output:
            self.takers[value.name].append(None)

    def shape(self, name: str) -> tuple[int | str, ...] | None:
        """Sizes of a value, names for open ones; ``None`` if not even their number is known."""
        return self._shapes.get(name)

    def only_taker(self, name: str) -> onnx.NodeProto | None:
        """The node that alone takes a value."""
        takers = self.takers[name]
        return takers[0] if len(takers) == 1 else None

    def constant(self, name: str) -> Array | None:
        """The value of a constant; ``None`` if it is none."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def add_constant(self, like: str, value: Array) -> str:
        """Add a constant; returns its name, made from ``like``."""
        name = self.fresh(like)
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        self._constants[name] = tensor
        return name

    def fresh(self, like: str) -> str:
        """A name that nothing has yet."""
        number = 1
        while f"{like}/rewritten_{number}" in self._names:
            number += 1
        self._names.add(f"{like}/rewritten_{number}")
        return f"{like}/rewritten_{number}"

    def replace(self, old: Sequence[onnx.NodeProto], new: Sequence[onnx.NodeProto]) -> None:
        """Put ``new`` nodes where the last of the ``old`` ones stood; order stays topological."""
        last = {id(node) for node in old}
        place = next(i for i, node in enumerate(self.nodes) if node is old[-1])
        before, after = ([n for n in part if id(n) not in last]
                         for part in (self.nodes[:place], self.nodes[place:]))  # fmt: skip
        self.nodes = [*before, *new, *after]
        self.refresh()


def attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """An attribute's value, or what stands for it when it is absent."""
    for each in node.attribute:
        if each.name == name:
            value = helper.get_attribute_value(each)
            return value.decode() if isinstance(value, bytes) else value
    return default


def set_attribute(node: onnx.NodeProto, name: str, value: Any) -> None:
    """Set an attribute, whether it is there or not."""
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])


def is_pointwise(node: onnx.NodeProto, weights: Array | None) -> bool:
    """Whether a node is a convolution of one cell each, without padding; whatever its strides."""
    return (
        node.op_type == "Conv"
        and weights is not None
        and set(weights.shape[2:]) == {1}
        and not any(attribute(node, "pads", ()))
        and attribute(node, "auto_pad", "NOTSET") in {"NOTSET", "VALID"}
    )


def _shape(value: onnx.ValueInfoProto) -> tuple[int | str, ...] | None:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    # A size without a name is equal to no other.
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or f"?{value.name}.{axis}"
        for axis, dim in enumerate(kind.shape.dim)
    )


def _taken_inside(node: onnx.NodeProto) -> list[str]:
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    graphs += [graph for a in node.attribute for graph in a.graphs]
    taken: list[str] = []
    for graph in graphs:
        for inner in graph.node:
            taken += [*filter(None, inner.input), *_taken_inside(inner)]
        taken += [value.name for value in graph.output]
    return taken
