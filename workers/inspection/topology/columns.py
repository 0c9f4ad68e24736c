"""What a reader collects of a network, in columns."""

from dataclasses import dataclass, field
from typing import Any

from workers.inspection.errors import printable
from workers.inspection.topology.attributes import Attribute
from workers.inspection.topology.statistics import Statistics

#: Most characters of a name, of all attributes, and most initialisers of a document.
MAX_NAME, MAX_ATTRIBUTE_TEXT, MAX_INITIALIZERS = 200, 2_000_000, 50_000
#: Most entries of a shape.
MAX_RANK = 16
Shape = list[int | str]


@dataclass(slots=True)
class Columns:
    """Columns of nodes, tensors, initialisers and edges; see the schema of the document.

    Attributes:
        hidden: Whether a node is a constant, which is not drawn.
        bodies: Node that a graph belongs to, and its name; the first is the main graph, -1.
        edges: Producer, consumer and tensor.
        omitted: What is incomplete: ``nodes``, ``attributes``, ``initializers``, ``statistics``.
        totals: Numbers in the file: ``nodes``, ``edges``, ``initializers``, ``bodies``.
    """

    operators: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    operator: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    body: list[int] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)
    macs: list[int | None] = field(default_factory=list)
    parameter_bytes: list[int] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    outputs: list[list[int]] = field(default_factory=list)
    attributes: list[list[Any]] = field(default_factory=list)
    tensor_names: list[str] = field(default_factory=list)
    tensor_dtypes: list[int] = field(default_factory=list)
    tensor_shapes: list[Shape | None] = field(default_factory=list)
    initializer_tensors: list[int] = field(default_factory=list)
    initializer_nodes: list[int] = field(default_factory=list)
    initializer_bytes: list[int] = field(default_factory=list)
    statistics: list[Statistics | None] = field(default_factory=list)
    graph_inputs: list[int] = field(default_factory=list)
    graph_outputs: list[int] = field(default_factory=list)
    bodies: list[tuple[int, str]] = field(default_factory=list)
    edges: list[tuple[int, int, int]] = field(default_factory=list)
    omitted: set[str] = field(default_factory=set)
    totals: dict[str, int] = field(default_factory=dict)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _attribute_text: int = 0

    def operator_number(self, name: str) -> int:
        """Number of an operator in ``operators``."""
        return self._number(self.operators, "operator", name)

    def node(self, operator: str, name: str, body: int, *, hidden: bool = False) -> int:
        """Add a node without tensors; returns its number."""
        self.operator.append(self.operator_number(operator))
        self.names.append(short(name))
        self.body.append(body)
        self.hidden.append(hidden)
        self.macs.append(None)
        self.parameter_bytes.append(0)
        self.inputs.append([])
        self.outputs.append([])
        return len(self.names) - 1

    def tensor(self, name: str) -> int:
        """Add a tensor of unknown type; returns its number."""
        self.tensor_names.append(short(name))
        self.tensor_dtypes.append(-1)
        self.tensor_shapes.append(None)
        return len(self.tensor_names) - 1

    def describe_tensor(self, tensor: int, dtype: str, shape: Shape | None) -> None:
        """Set the type of a tensor; ``shape`` is ``None`` for an unknown rank."""
        self.tensor_dtypes[tensor] = self._number(self.dtypes, "dtype", dtype)
        self.tensor_shapes[tensor] = None if shape is None else shape[:MAX_RANK]

    def initializer(
        self, tensor: int, size_bytes: int, statistics: Statistics | None, *, node: int = -1
    ) -> None:
        """Add an initialiser; ``node`` is the constant node that holds it, if one does."""
        if len(self.initializer_tensors) >= MAX_INITIALIZERS:
            self.omitted.add("initializers")
            return
        self.initializer_tensors.append(tensor)
        self.initializer_nodes.append(node)
        self.initializer_bytes.append(size_bytes)
        self.statistics.append(statistics)

    def attribute(self, node: int, values: list[Attribute]) -> None:
        """Add the attributes of a node."""
        for value in values:
            self._attribute_text += sum(map(len, value))
            if self._attribute_text > MAX_ATTRIBUTE_TEXT:
                self.omitted.add("attributes")
                return
            self.attributes.append([node, *value])

    def readers_of_hidden(self) -> dict[int, int]:
        """Constant node to the first node that reads it."""
        makers = {
            tensor: node
            for node, hidden in enumerate(self.hidden)
            if hidden
            for tensor in self.outputs[node]
        }
        readers: dict[int, int] = {}
        if makers:
            for node, inputs in enumerate(self.inputs):
                for tensor in inputs:
                    if tensor in makers and not self.hidden[node]:
                        readers.setdefault(makers[tensor], node)
        return readers

    def fixed(self) -> set[int]:
        """Nodes that depend on no input of the network, nor of a body: the same in every run."""
        makers = {t: node for node, made in enumerate(self.outputs) for t in made if t >= 0}
        stored = set(self.initializer_tensors)
        fixed: set[int] = set()
        for node, inputs in enumerate(self.inputs):
            sources = [tensor for tensor in inputs if tensor >= 0 and tensor not in stored]
            if all(makers.get(tensor) in fixed for tensor in sources):
                fixed.add(node)
        return fixed

    def _number(self, names: list[str], kind: str, name: str) -> int:
        name = short(name)
        key = (kind, name)
        if key not in self._numbers:
            self._numbers[key] = len(names)
            names.append(name)
        return self._numbers[key]


def short(text: str) -> str:
    """A name on one line, at most :data:`MAX_NAME` characters."""
    return text if len(text) <= MAX_NAME and text.isprintable() else printable(text, MAX_NAME)
