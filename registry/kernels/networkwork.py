"""Work of graph nodes and of the calls that compute them: operations and bytes, in one place for
every page, rule and list that states them.

Operations are those of linear operators, two for each multiply-accumulate. Bytes are the least
traffic with main memory: what enters and leaves, each tensor once, in the executed precision.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from registry.kernels.dtypes import PRECISIONS, bits_of

_ASSUMED_PRECISION = "float32"
#: Grades of links to nodes that no other call computes as well.
_OWN_GRADES = frozenset({"exact", "inferred"})


@dataclass(frozen=True, slots=True)
class NodeWork:
    """Operations and bytes; ``None`` where they are not known."""

    flops: float | None = None
    traffic: float | None = None

    @property
    def intensity(self) -> float | None:
        """Operations per byte; ``None`` without operations."""
        return self.flops / self.traffic if self.flops and self.traffic else None


@dataclass(frozen=True, slots=True)
class CallWork(NodeWork):
    """Work of a call.

    Attributes:
        precision: In which it was executed; ``is_assumed`` if the runtime did not report it.
    """

    precision: str = _ASSUMED_PRECISION
    is_assumed: bool = True


class ProfiledCall(Protocol):
    """A call of a profile; ``nodes`` are ``{"index", "grade"}``."""

    median_ns: int
    precision: str
    nodes: Any


class NetworkWork:
    """Work of the nodes of a network, by position; dynamic dimensions count as 1.

    Args:
        document: Of schema ``hpcfair.topology/1``. Its columns are shared, and not changed.

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
        self._elements = [_elements(shape) for shape in tensors["shape"]]
        self._results = frozenset(document["outputs"])
        self._readers: dict[int, list[int]] = {}
        for node, numbers in enumerate(self._inputs):
            for number in numbers:
                self._readers.setdefault(number, []).append(node)

    def __len__(self) -> int:
        return len(self.operators)

    def of(self, nodes: Collection[int], precision: str = "") -> NodeWork:
        """Work of some nodes together; unknown if one of them is not known.

        Args:
            precision: In which they were executed: their floating-point tensors have its width.
        """
        own = set(nodes)
        if not own or not all(0 <= node < len(self) for node in own):
            return NodeWork()
        macs = [self._macs[node] for node in own]
        flops = None if None in macs else 2.0 * sum(each or 0 for each in macs)
        return NodeWork(flops, self._traffic(own, precision))

    def label(self, nodes: Sequence[int], most: int = 3) -> str:
        """``Conv + BatchNormalization + Relu``; "" if no node is known."""
        names = list(dict.fromkeys(self.operators[node] for node in nodes if node < len(self)))
        return " + ".join(names[:most]) + (f" + {len(names) - most} more" if names[most:] else "")

    def _traffic(self, own: set[int], precision: str) -> float | None:
        """Bytes that nodes read and write; tensors that only pass between them do not count."""
        made = {tensor for node in own for tensor in self._outputs[node] if tensor >= 0}
        read = {tensor for node in own for tensor in self._inputs[node] if tensor >= 0}
        left = {tensor for tensor in made if self._is_read_outside(tensor, own)}
        sizes = [self._bytes(tensor, precision) for tensor in (read - made) | left]
        return None if not sizes or None in sizes else sum(size or 0.0 for size in sizes)

    def _is_read_outside(self, tensor: int, own: set[int]) -> bool:
        if tensor in self._results:
            return True
        return any(node not in own for node in self._readers.get(tensor, ()))

    def _bytes(self, tensor: int, precision: str) -> float | None:
        elements, dtype = self._elements[tensor], self._dtypes[tensor]
        executed = precision if "float" in dtype and precision in PRECISIONS else dtype
        bits = bits_of(executed)
        return None if elements is None or not bits else elements * bits / 8


def executed_precision(reported: str, model: str) -> tuple[str, bool]:
    """The precision in which a call computed, and whether it is assumed.

    Types that index and count are no precision: such a call is taken to be of the model's.
    """
    if reported in PRECISIONS:
        return reported, False
    return model or _ASSUMED_PRECISION, True


def call_works(
    calls: Sequence[ProfiledCall], network: NetworkWork, model_precision: str
) -> list[CallWork]:
    """The work of each call of a profile, in their order.

    A node that several calls compute is the work of the longest of them. The work of a call that
    shares nodes with others, by the grade of its links, is not known.
    """
    owners: dict[int, int] = {}
    for at, call in enumerate(calls):
        for node in _own(call):
            owner = owners.get(node)
            if owner is None or call.median_ns > calls[owner].median_ns:
                owners[node] = at
    works = []
    for at, call in enumerate(calls):
        precision, is_assumed = executed_precision(call.precision, model_precision)
        own = network.of([node for node in _own(call) if owners[node] == at], precision)
        works.append(CallWork(own.flops, own.traffic, precision, is_assumed))
    return works


def _own(call: ProfiledCall) -> list[int]:
    links = call.nodes
    if any(link["grade"] not in _OWN_GRADES for link in links):
        return []
    return [link["index"] for link in links]


def _elements(shape: Sequence[int | str] | None) -> int | None:
    if shape is None:
        return None
    return prod(size if isinstance(size, int) else 1 for size in shape)
