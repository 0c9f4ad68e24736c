"""Operations and bytes of a network's nodes, from its topology."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Self

from registry.errors import NotFound
from registry.selectors.analysis.topology import topology_document, topology_of
from registry.tables import Graph

_BYTES = {
    "float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2,
    "bfloat16": 2, "int16": 2, "uint16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NetworkWork:
    """Work of the nodes of a network, by position; dynamic dimensions count as 1.

    Attributes:
        operators, names: Of each node.
        macs: Multiply-accumulates; ``None`` where they are not known.
        inputs, outputs: Tensors of each node.
        bytes: Of each tensor; ``None`` where shape or type is not known.
        results: Tensors that are outputs of the network.
    """

    operators: Sequence[str]
    names: Sequence[str]
    macs: Sequence[int | None]
    inputs: Sequence[Sequence[int]]
    outputs: Sequence[Sequence[int]]
    bytes: Sequence[int | None]
    results: frozenset[int]

    @classmethod
    def from_topology(cls, document: Mapping[str, Any]) -> Self:
        """From a document of schema ``hpcfair.topology/1``."""
        nodes, tensors, dtypes = document["nodes"], document["tensors"], document["dtypes"]
        return cls(
            operators=[document["operators"][at] for at in nodes["operator"]],
            names=nodes["name"],
            macs=nodes["macs"],
            inputs=nodes["inputs"],
            outputs=nodes["outputs"],
            bytes=[
                _size(dtypes[dtype] if dtype >= 0 else "", shape)
                for dtype, shape in zip(tensors["dtype"], tensors["shape"], strict=True)
            ],
            results=frozenset(document["outputs"]),
        )

    def __len__(self) -> int:
        return len(self.operators)

    def flops(self, nodes: Collection[int]) -> float | None:
        """Floating-point operations of some nodes, two for each multiply-accumulate; ``None`` if
        one is not known."""
        macs = [self.macs[node] for node in nodes if node < len(self)]
        if not macs or len(macs) < len(nodes):
            return None
        return None if None in macs else 2.0 * sum(each or 0 for each in macs)

    def traffic(self, nodes: Collection[int]) -> int | None:
        """Bytes that some nodes together read and write, each tensor once; tensors that only pass
        between them do not count. ``None`` if one is not known."""
        inside = {node for node in nodes if node < len(self)}
        if not inside or len(inside) < len(set(nodes)):
            return None
        made = {tensor for node in inside for tensor in self.outputs[node] if tensor >= 0}
        read = {tensor for node in inside for tensor in self.inputs[node] if tensor >= 0}
        used = {
            tensor
            for node in range(len(self))
            if node not in inside
            for tensor in self.inputs[node]
        }
        moved = (read - made) | (made & (used | self.results))
        sizes = [self.bytes[tensor] for tensor in moved]
        return None if not sizes or None in sizes else sum(size or 0 for size in sizes)

    def label(self, nodes: Sequence[int], most: int = 3) -> str:
        """``Conv + BatchNormalization + Relu``; "" if no node is known."""
        names = list(dict.fromkeys(self.operators[node] for node in nodes if node < len(self)))
        return " + ".join(names[:most]) + (f" + {len(names) - most} more" if names[most:] else "")


def work_of(graph: Graph) -> NetworkWork | None:
    """The work of a network's nodes; ``None`` if its topology is missing, or its bytes are."""
    topology = topology_of(graph)
    if topology is None:
        return None
    try:
        document = topology_document(topology)
    except NotFound:
        return None
    return NetworkWork.from_topology(document)


def _size(dtype: str, shape: Sequence[int | str] | None) -> int | None:
    if shape is None or dtype not in _BYTES:
        return None
    return _BYTES[dtype] * prod(size if isinstance(size, int) else 1 for size in shape)
