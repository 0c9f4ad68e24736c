"""Nodes that a profile names.

Optimisers add prefixes and suffixes to names; the lists below are of those that occur in real
files. A name that several nodes share identifies none of them.
"""

import re

from registry.nodelinks.network import LinkNetwork

_APPENDED = re.compile(
    r"(_nchwc|_token_\d+|/duplicated|_q|_quant|_quantized|_(De)?[Qq]uantizeLinear(_(Out|In)put)?"
    r"|/rewritten_\d+|/?/MatMulAddFusion|/?/MatMulScaleFusion/?|/?/MatmulTransposeFusion/?"
    r"|/?/GemmTransposeFusion/?|/WithoutBiases|_cast_to_\w+|_(in|out)put_cast_?\d*|/sink_port_\d+"
    r"|\.\d+_cast|_original|/fq_output_\d)$"
)
_PREPENDED = re.compile(r"^(fused |InsertedPrecisionFreeCast_|ONNXTRT_\w+?_)")
_NUMBERED = re.compile(r"^(?P<operator>[A-Za-z]\w*?)_(?P<index>\d+)$")


class NameTable:
    """Looks up nodes by their names and by the names of their outputs."""

    def __init__(self, network: LinkNetwork) -> None:
        self._network = network
        self._by_output = {
            name: index for index, node in enumerate(network.nodes) for name in node.outputs if name
        }
        self._by_name: dict[str, int] = {}
        for index, node in enumerate(network.nodes):
            self._by_name[node.name] = -1 if node.name in self._by_name or not node.name else index

    def look_up(self, name: str) -> int | None:
        """The node of that name, unchanged or without the parts that optimisers add."""
        shorter = name
        while True:
            index = self._by_name.get(shorter, -1)
            if index < 0:
                index = self._by_output.get(shorter, -1)
            if index >= 0:
                return index
            before = shorter
            shorter = _APPENDED.sub("", _PREPENDED.sub("", shorter))
            if shorter == before:
                return None

    def look_up_number(self, name: str) -> int | None:
        """The node that a runtime called ``<operator>_<index>`` because it had no name."""
        match = _NUMBERED.match(name)
        if match is None or int(match["index"]) >= len(self._network.nodes):
            return None
        index = int(match["index"])
        node = self._network.nodes[index]
        return index if node.operator == match["operator"] and not node.name else None
