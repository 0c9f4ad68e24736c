"""Operations and bytes of a network's nodes, from its topology."""

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, Final

from registry.errors import NotFound
from registry.selectors.analysis.topology import topology_document, topology_of
from registry.tables import Graph

#: Bytes of an element, by the beginning of its type's name. Packed types take one byte at most.
_BYTES: Final = (
    ("float8", 1), ("bfloat16", 2), ("float16", 2), ("float32", 4), ("float64", 8), ("int64", 8),
    ("uint64", 8), ("int32", 4), ("uint32", 4), ("int16", 2), ("uint16", 2), ("int4", 1),
    ("uint4", 1), ("int8", 1), ("uint8", 1), ("bool", 1), ("complex64", 8), ("complex128", 16),
)  # fmt: skip
#: Bytes of a number of a float32 network that a build computes in another precision.
_EXECUTED: Final = {"bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1}


class NetworkWork:
    """Work of the nodes of a network, by position; dynamic dimensions count as 1.

    Args:
        document: Of schema ``hpcfair.topology/1``.

    Attributes:
        operators, names: Of each node.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        nodes, tensors, dtypes = document["nodes"], document["tensors"], document["dtypes"]
        self.operators: Sequence[str] = [document["operators"][at] for at in nodes["operator"]]
        self.names: Sequence[str] = nodes["name"]
        self._macs: Sequence[int | None] = nodes["macs"]
        self._inputs: Sequence[Sequence[int]] = nodes["inputs"]
        self._outputs: Sequence[Sequence[int]] = nodes["outputs"]
        self._dtypes = [dtypes[at] if at >= 0 else "" for at in tensors["dtype"]]
        self._shapes: Sequence[Sequence[int | str] | None] = tensors["shape"]
        self._results = frozenset(document["outputs"])
        self._readers: dict[int, set[int]] = {}
        for node, numbers in enumerate(self._inputs):
            for number in numbers:
                self._readers.setdefault(number, set()).add(node)

    def __len__(self) -> int:
        return len(self.operators)

    def flops(self, nodes: Collection[int]) -> float | None:
        """Floating-point operations of some nodes, two for each multiply-accumulate; ``None`` if
        one is not known."""
        macs = [self._macs[node] for node in nodes if node < len(self)]
        if not macs or len(macs) < len(nodes):
            return None
        return None if None in macs else 2.0 * sum(each or 0 for each in macs)

    def traffic(self, nodes: Collection[int], precision: str = "") -> float | None:
        """Bytes that some nodes together read and write, each tensor once; tensors that only pass
        between them do not count. ``None`` if one is not known.

        Args:
            precision: The one in which they were executed: float32 values take its bytes.
        """
        inside = {node for node in nodes if node < len(self)}
        if not inside or len(inside) < len(set(nodes)):
            return None
        made = {tensor for node in inside for tensor in self._outputs[node] if tensor >= 0}
        read = {tensor for node in inside for tensor in self._inputs[node] if tensor >= 0}
        written = {
            tensor
            for tensor in made
            if tensor in self._results or not self._readers.get(tensor, set()) <= inside
        }
        sizes = [self._bytes(tensor, precision) for tensor in (read - made) | written]
        return None if not sizes or None in sizes else float(sum(size or 0 for size in sizes))

    def _bytes(self, tensor: int, precision: str) -> int | None:
        shape, dtype = self._shapes[tensor], self._dtypes[tensor]
        size = next((size for name, size in _BYTES if dtype.startswith(name)), None)
        if shape is None or size is None:
            return None
        if dtype == "float32":
            size = _EXECUTED.get(precision, size)
        return size * prod(each if isinstance(each, int) else 1 for each in shape)

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
    return NetworkWork(document)
