"""An editable ONNX graph with an index of its edges."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from workers.engine.ports import Array


class EditableGraph:
    """A model with the producer and the consumers of each value. Rewrites use its methods.

    Outputs of the graph and values used inside subgraphs have the consumer ``None``, which cannot
    be rewritten.

    Attributes:
        nodes: Copies of the graph's nodes, in topological order.
        producers: Node by the name of its output.
        consumers: Nodes by the name of their input.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = shape_inference.infer_shapes(model, data_prop=True)
        graph = self._model.graph
        # Copies in a list: protobuf copies nodes whenever they move.
        self.nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        values = (*graph.input, *graph.value_info, *graph.output)
        self._shapes = {value.name: _shape(value) for value in values}
        self._names = {*self._constants, *self._shapes}
        self._names |= {name for node in self.nodes for name in (*node.input, *node.output)}
        self.refresh()

    def model(self) -> onnx.ModelProto:
        """The current model, without unused constants."""
        graph = self._model.graph
        used = [tensor for name, tensor in self._constants.items() if self.consumers.get(name)]
        del graph.node[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(used)
        domains = {each.domain for each in self._model.opset_import}
        for domain in sorted({node.domain for node in self.nodes if node.domain} - domains):
            self._model.opset_import.append(helper.make_opsetid(domain, 1))
        return self._model

    @property
    def opset(self) -> int:
        """Version of ONNX's operators; 0 if the model uses none of them."""
        versions = (each.version for each in self._model.opset_import if not each.domain)
        return next(versions, 0)

    def refresh(self) -> None:
        """Update the index of edges after nodes were added or removed."""
        self.producers: dict[str, onnx.NodeProto] = {}
        self.consumers: dict[str, list[onnx.NodeProto | None]] = defaultdict(list)
        for node in self.nodes:
            self.producers.update(dict.fromkeys(filter(None, node.output), node))
            for name in filter(None, node.input):
                self.consumers[name].append(node)
            for name in _subgraph_inputs(node):
                self.consumers[name].append(None)
        for value in self._model.graph.output:
            self.consumers[value.name].append(None)

    def shape(self, name: str) -> tuple[int | str, ...] | None:
        """Sizes of a value, names for dynamic ones; ``None`` if its rank is unknown."""
        constant = self._constants.get(name)
        return self._shapes.get(name) if constant is None else tuple(constant.dims)

    def only_consumer(self, name: str) -> onnx.NodeProto | None:
        """The only consumer of a value; ``None`` if there are several or none."""
        consumers = self.consumers[name]
        return consumers[0] if len(consumers) == 1 else None

    def constant(self, name: str) -> Array | None:
        """The value of a constant; ``None`` if the name is not a constant."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def add_constant(self, like: str, value: Array) -> str:
        """Add a constant; returns its name, derived from ``like``."""
        name = self.fresh(like)
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        self._constants[name] = tensor
        return name

    def fresh(self, like: str) -> str:
        """An unused name, derived from ``like``."""
        number = 1
        while f"{like}/rewritten_{number}" in self._names:
            number += 1
        self._names.add(f"{like}/rewritten_{number}")
        return f"{like}/rewritten_{number}"

    def replace(self, old: Sequence[onnx.NodeProto], new: Sequence[onnx.NodeProto]) -> None:
        """Replace nodes; the new ones take the position of the last of the old ones."""
        removed = {id(node) for node in old}
        position = next(i for i, node in enumerate(self.nodes) if node is old[-1])
        before, after = ([n for n in part if id(n) not in removed]
                         for part in (self.nodes[:position], self.nodes[position:]))  # fmt: skip
        self.nodes = [*before, *new, *after]
        self.refresh()

    def remove_unused(self) -> None:
        """Remove nodes whose outputs have no consumer."""
        for node in reversed(list(self.nodes)):
            if not any(self.consumers.get(name) for name in node.output):
                self.replace([node], [])


@dataclass
class NodeBuilder:
    """New nodes in place of one, named after its result ``like``."""

    graph: EditableGraph
    like: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def constant(self, value: Any) -> str:
        """Add a constant: numbers with a fraction in float32, integers in int64."""
        array = np.asarray(value)
        dtype = np.float32 if array.dtype.kind == "f" else np.int64
        return self.graph.add_constant(self.like, array.astype(dtype))

    def add(self, kind: str, inputs: list[str], *, result: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its only output."""
        name = self.graph.fresh(self.like)
        output = result or name
        self.nodes.append(helper.make_node(kind, inputs, [output], name, **attributes))
        return output

    def reshape(self, source: str, shape: list[int]) -> str:
        """Add a ``Reshape``, in which 0 keeps a size."""
        return self.add("Reshape", [source, self.constant(shape)])

    def slice(self, source: str, starts: list[int], ends: list[int], axes: list[int]) -> str:
        """Add a ``Slice``."""
        return self.add("Slice", [source, *map(self.constant, (starts, ends, axes))])

    def split(self, source: str, number: int, axis: int) -> list[str]:
        """Add a ``Split`` into parts of size 1; returns their names."""
        parts = [self.graph.fresh(self.like) for _ in range(number)]
        sizes = self.constant(np.ones(number, np.int64))
        self.nodes.append(helper.make_node("Split", [source, sizes], parts, parts[0], axis=axis))
        return parts


def attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute, or ``default`` if it is absent."""
    for each in node.attribute:
        if each.name == name:
            value = helper.get_attribute_value(each)
            return value.decode() if isinstance(value, bytes) else value
    return default


def set_attribute(node: onnx.NodeProto, name: str, value: Any) -> None:
    """Set or replace an attribute."""
    others = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend([*others, helper.make_attribute(name, value)])


def is_pointwise(node: onnx.NodeProto, weights: Array | None) -> bool:
    """Whether a node is a 1x1 convolution without padding, of any stride."""
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
    # Unnamed sizes get unique names: they are not known to be equal to any other.
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or f"?{value.name}.{axis}"
        for axis, dim in enumerate(kind.shape.dim)
    )


def _subgraph_inputs(node: onnx.NodeProto) -> list[str]:
    graphs = [a.g for a in node.attribute if a.HasField("g")]
    graphs += [graph for a in node.attribute for graph in a.graphs]
    names: list[str] = []
    for graph in graphs:
        for inner in graph.node:
            names += [*filter(None, inner.input), *_subgraph_inputs(inner)]
        names += [value.name for value in graph.output]
    return names
