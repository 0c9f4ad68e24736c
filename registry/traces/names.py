"""Names of blocks, and of their loops where the workload tells them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Names of reductions contain that of their input, which contains its node.
_OWNER = re.compile(r"onnx\d+_")


@dataclass(frozen=True, slots=True)
class LoopAxis:
    """A loop of a workload before scheduling.

    Attributes:
        block: Name of its block, as shown.
        position: Its number in the loop nest of the block, outermost 0.
        name: Name in the workload, such as ``ff``; "" if it is not stored.
        kind: ``spatial``, ``reduction``, or "" if it is not stored.
    """

    block: str
    position: int
    name: str = ""
    kind: str = ""

    @property
    def label(self) -> str:
        """Its name, or its number: ``ff``, ``loop 3``."""
        return self.name or f"loop {self.position}"


@dataclass(frozen=True, slots=True)
class WorkloadNames:
    """What a workload says about its blocks: the column ``blocks`` of its row.

    ``blocks`` are ``{"name", "axes": [{"name", "kind"}], "consumers": [names]}`` in the order of
    the program; empty for workloads that were stored before the hub kept them.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    _axes: dict[str, list[Mapping[str, Any]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        axes = {str(block["name"]): list(block.get("axes", ())) for block in self.blocks}
        object.__setattr__(self, "_axes", axes)

    def axes(self, block: str, count: int) -> list[LoopAxis]:
        """The ``count`` loops of an original block, with names if as many are stored."""
        stored = self._axes.get(block, [])
        if len(stored) != count:
            return [LoopAxis(shown(block), position) for position in range(count)]
        return [
            LoopAxis(shown(block), position, str(axis["name"]), str(axis.get("kind", "")))
            for position, axis in enumerate(stored)
        ]

    def consumer(self, block: str) -> str:
        """The block that reads what ``block`` writes; "" unless exactly one is stored."""
        for each in self.blocks:
            if each["name"] == block:
                consumers = each.get("consumers", ())
                return str(consumers[0]) if len(consumers) == 1 else ""
        return ""


def shown(block: str) -> str:
    """Name of a block without that of the network's node."""
    return _OWNER.sub("", block)
