"""Shuffles of channels as one copy instead of three operators.

A shuffle (Zhang et al. 2017, section 3.1) deals the channels of groups out in turn::

    Reshape [N, groups, channels, H, W] ─ Transpose ─ Reshape [N, C, H, W]   ─▶   Gather
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from workers.backends.rewrites.network import Network, attribute

_SWAPPED = [0, 2, 1, 3, 4]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A shuffle in a graph.

    Attributes:
        nodes: What it consists of, in order.
        order: Which of the channels before it comes where: ``after[i] == before[order[i]]``.
    """

    nodes: tuple[onnx.NodeProto, onnx.NodeProto, onnx.NodeProto]
    order: npt.NDArray[np.int64]

    @property
    def source(self) -> str:
        return str(self.nodes[0].input[0])

    @property
    def result(self) -> str:
        return str(self.nodes[-1].output[0])


def gather_shuffles(network: Network) -> int:
    """Write shuffles as ``Gather``; returns how many."""
    found = shuffles(network)
    for shuffle in found:
        order = network.add_constant(shuffle.result, shuffle.order)
        gather = helper.make_node(
            "Gather", [shuffle.source, order], [shuffle.result], shuffle.nodes[1].name, axis=1
        )
        network.replace(shuffle.nodes, [gather])
    return len(found)


def shuffles(network: Network) -> list[Shuffle]:
    """Those of a network."""
    found = [
        _shuffle_around(network, node) for node in network.nodes if node.op_type == "Transpose"
    ]
    return [shuffle for shuffle in found if shuffle is not None]


def _shuffle_around(network: Network, transpose: onnx.NodeProto) -> Shuffle | None:
    before = network.makers.get(transpose.input[0])
    after = network.only_taker(transpose.output[0])
    if before is None or after is None or {before.op_type, after.op_type} != {"Reshape"}:
        return None
    parted, whole = network.shape(before.output[0]), network.shape(before.input[0])
    if list(attribute(transpose, "perm", [])) != _SWAPPED or parted is None or whole is None:
        return None
    outer, inner = parted[1:3]
    if not isinstance(outer, int) or not isinstance(inner, int):
        return None
    same = (parted[0], outer * inner, *parted[3:]) == whole == network.shape(after.output[0])
    if not same or network.only_taker(before.output[0]) is not transpose:
        return None
    order = np.arange(outer * inner).reshape(outer, inner).T.ravel()
    return Shuffle((before, transpose, after), order)
