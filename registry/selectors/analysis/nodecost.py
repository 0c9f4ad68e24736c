"""Arithmetic and traffic of groups of nodes, from the topology of their network."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

#: Bytes of an element, by the beginning of its type's name; longer names first.
_BYTES: Final = (
    ("float8", 1), ("bfloat16", 2), ("float16", 2), ("float64", 8), ("double", 8), ("float", 4),
    ("int64", 8), ("uint64", 8), ("int32", 4), ("uint32", 4), ("int16", 2), ("uint16", 2),
    ("int4", 1), ("uint4", 1), ("int8", 1), ("uint8", 1), ("bool", 1), ("complex64", 8),
    ("complex128", 16),
)  # fmt: skip
#: Bytes of a number of a float32 network where a build computes in another precision.
_EXECUTED: Final = {"bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1}


@dataclass(frozen=True, slots=True)
class GroupCost:
    """What a group of nodes has to do at least.

    Attributes:
        flops: Operations of its linear operators, two for each multiply-accumulate; ``None`` if
            the count of a node is unknown.
        traffic: Bytes of its parameters, and of the tensors that enter and leave it, each counted
            once; ``None`` if a size is unknown.
    """

    flops: float | None
    traffic: float | None


class NodeCosts:
    """The costs of one network.

    Args:
        document: Of schema ``hpcfair.topology/1``. Dynamic dimensions count 1, as in its MACs.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        nodes, tensors = document["nodes"], document["tensors"]
        self._macs: Sequence[int | None] = nodes["macs"]
        self._parameter_bytes: Sequence[int] = nodes["parameter_bytes"]
        self._inputs: Sequence[Sequence[int]] = nodes["inputs"]
        self._outputs: Sequence[Sequence[int]] = nodes["outputs"]
        dtypes: Sequence[str] = document["dtypes"]
        self._dtypes = [dtypes[at] if at >= 0 else "" for at in tensors["dtype"]]
        self._shapes: Sequence[Sequence[int | str] | None] = tensors["shape"]
        # Constants are counted with the parameters of the nodes that read them.
        self._constants = set(document["initializers"]["tensor"])
        self._consumers: dict[int, set[int]] = {}
        for node, numbers in enumerate(self._inputs):
            for number in numbers:
                self._consumers.setdefault(number, set()).add(node)
        self._results = set(document["outputs"])

    def of(self, positions: Collection[int], precision: str = "") -> GroupCost:
        """The cost of the nodes at ``positions``, of which unknown ones have no cost.

        ``precision`` is the one in which they were executed: float32 values then take its bytes.
        """
        own = {at for at in positions if 0 <= at < len(self._macs)}
        macs = [self._macs[at] for at in own]
        flops = None if None in macs or not own else 2.0 * sum(filter(None, macs))
        inside = {number for at in own for number in self._outputs[at] if number >= 0}
        entering = {
            number
            for at in own
            for number in self._inputs[at]
            if number >= 0 and number not in inside and number not in self._constants
        }
        leaving = {
            number
            for number in inside
            if number in self._results or not self._consumers.get(number, set()) <= own
        }
        sizes = [self._bytes(number, precision) for number in entering | leaving]
        if None in sizes or not own:
            return GroupCost(flops, None)
        scale = _EXECUTED.get(precision, 4) / 4
        parameters = sum(self._parameter_bytes[at] for at in own) * scale
        return GroupCost(flops, parameters + sum(filter(None, sizes)))

    def _bytes(self, number: int, precision: str) -> float | None:
        shape, dtype = self._shapes[number], self._dtypes[number].lower()
        size = next((size for name, size in _BYTES if dtype.startswith(name)), None)
        if shape is None or size is None:
            return None
        if dtype in {"float32", "float"}:
            size = _EXECUTED.get(precision, size)
        return float(size * prod(each if isinstance(each, int) else 1 for each in shape))
