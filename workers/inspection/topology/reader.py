"""Reads the columns of a document from an ONNX model without weights."""

import math
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto, ValueInfoProto

from workers.inspection.cost import step_cost
from workers.inspection.dtypes import bytes_of, name_of
from workers.inspection.flow import Body, Flow, Step
from workers.inspection.numbering import operator_name, stored_tensor
from workers.inspection.shapes import with_shapes
from workers.inspection.signature import compound_type
from workers.inspection.topology.attributes import attributes_of
from workers.inspection.topology.columns import Columns, Shape
from workers.inspection.topology.weights import Place, Weights, graphs_of
from workers.inspection.walk import all_nodes

_LARGEST = 2**53


@dataclass(slots=True)
class _Scope:
    """Names visible in a graph. Chained rather than copied: there may be thousands of bodies."""

    outer: "_Scope | None"
    names: dict[str, int] = field(default_factory=dict)

    def find(self, name: str) -> int | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def read(model: onnx.ModelProto, flow: Flow | None, weights: Weights) -> Columns:
    """The columns of a checked skeleton, for ``workers.inspection.topology.document``."""
    typed = with_shapes(model, dynamic=None)
    return _Reader(flow, weights).read(typed)


class _Reader:
    def __init__(self, flow: Flow | None, weights: Weights) -> None:
        self._columns = Columns()
        self._flow, self._weights = flow, weights
        self._scopes: dict[int, _Scope] = {}
        #: First node of each graph, and data flow of its steps.
        self._first: dict[int, int] = {}
        self._steps: dict[int, dict[int, Step]] = {}
        self._maker: dict[int, int] = {}
        self._stored: dict[int, int] = {}

    def read(self, model: onnx.ModelProto) -> Columns:
        columns = self._columns
        places = list(graphs_of(model))
        for place in places:
            self._declare(place)
        for place in places:
            self._connect(place)
        nodes = sum(1 for _ in all_nodes(model))
        columns.totals = {
            "nodes": max(nodes, len(columns.names)),
            "edges": len(columns.edges),
            "initializers": sum(len(place.graph.initializer) for place in places),
            "bodies": len(places) - 1,
        }
        if sum(len(place.graph.node) for place in places) > len(columns.names):
            columns.omitted.add("nodes")
        if not self._weights.is_complete:
            columns.omitted.add("statistics")
        return columns

    def _declare(self, place: Place) -> None:
        """Number the nodes and the values that a graph defines."""
        columns = self._columns
        scope = self._scopes[place.number] = _Scope(self._scopes.get(place.outer))
        owner = self._first[place.outer] + place.owner if place.number else -1
        columns.bodies.append((owner, place.attribute or "main"))
        self._first[place.number] = len(columns.names)
        self._steps[place.number] = self._matching(place)
        for position, tensor in enumerate(place.graph.initializer):
            number = scope.names[tensor.name] = columns.tensor(tensor.name)
            statistics = self._weights.initializers.get((place.number, position))
            self._stored[number] = size = self._store(number, tensor)
            columns.initializer(number, size, statistics)
        for value in place.graph.input:
            if value.name not in scope.names:
                scope.names[value.name] = columns.tensor(value.name)
                if not place.number:
                    columns.graph_inputs.append(scope.names[value.name])
        for position, node in enumerate(place.nodes):
            tensor = stored_tensor(node)
            made = columns.node(
                operator_name(node), node.name, place.number, hidden=tensor is not None
            )
            for name in node.output:
                number = columns.tensor(name) if name else -1
                if name:
                    scope.names[name] = number
                    self._maker[number] = made
                columns.outputs[made].append(number)
            if isinstance(tensor, TensorProto) and columns.outputs[made][0] >= 0:
                number = columns.outputs[made][0]
                statistics = self._weights.constants.get((place.number, position))
                self._stored[number] = size = self._store(number, tensor)
                columns.initializer(number, size, statistics, node=made)
        for value in (*place.graph.value_info, *place.graph.output, *place.graph.input):
            number = scope.names.get(value.name, -1)
            if number >= 0 and number not in self._stored:
                columns.describe_tensor(number, *_type(value))

    def _store(self, number: int, tensor: TensorProto) -> int:
        self._columns.describe_tensor(number, name_of(tensor.data_type), list(tensor.dims))
        elements = math.prod(tensor.dims)
        return min(bytes_of(tensor.data_type, elements) or 0, _LARGEST)

    def _connect(self, place: Place) -> None:
        columns, scope = self._columns, self._scopes[place.number]
        for position, node in enumerate(place.nodes):
            number = self._first[place.number] + position
            inputs = [self._value(name, scope) if name else -1 for name in node.input]
            columns.inputs[number] = inputs
            if columns.hidden[number]:
                continue
            columns.parameter_bytes[number] = sum(self._stored.get(value, 0) for value in inputs)
            columns.macs[number] = self._macs(place, position)
            columns.attribute(number, attributes_of(node.attribute))
            self._join(inputs, number)
        outputs = [self._value(value.name, scope) for value in place.graph.output]
        if place.number:
            # A body computes the outputs of its node.
            self._join(outputs, self._first[place.outer] + place.owner)
        else:
            columns.graph_outputs += outputs

    def _join(self, values: list[int], target: int) -> None:
        for value in dict.fromkeys(values):
            source = self._maker.get(value, target)
            if source != target and not self._columns.hidden[source]:
                self._columns.edges.append((source, target, value))

    def _value(self, name: str, scope: _Scope) -> int:
        number = scope.find(name)
        if number is None:
            # The checker reports undefined names, except in graphs that it cannot check.
            number = scope.names[name] = self._columns.tensor(name)
        return number

    def _macs(self, place: Place, position: int) -> int | None:
        step = self._steps[place.number].get(position)
        if step is None or self._flow is None:
            return None
        macs = step_cost(self._flow, step)
        return None if macs is None or macs > _LARGEST else macs

    def _matching(self, place: Place) -> dict[int, Step]:
        """Steps of the data flow by position of their node, if the two agree."""
        body = self._body(place)
        if body is None:
            return {}
        positions = [n for n, node in enumerate(place.graph.node) if stored_tensor(node) is None]
        if len(positions) != len(body.steps):
            return {}
        return dict(zip(positions, body.steps, strict=True))

    def _body(self, place: Place) -> Body | None:
        if self._flow is None:
            return None
        if not place.number:
            return self._flow.main
        owner = self._steps[place.outer].get(place.owner)
        if owner is None:
            return None
        attribute, _, number = place.attribute.partition(" ")
        return owner.bodies.get(f"{attribute}.{number or 0}")


def _type(value: ValueInfoProto) -> tuple[str, Shape | None]:
    """Element type and shape; a dynamic dimension is its name, or ``?``."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return compound_type(value.type), None
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return name_of(tensor.elem_type), None
    return name_of(tensor.elem_type), [
        dim.dim_value
        if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0
        else dim.dim_param[:40] or "?"
        for dim in tensor.shape.dim
    ]
