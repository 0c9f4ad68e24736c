"""Assigns the nodes that no call names to the calls around them.

An optimiser that fuses a node keeps no trace of it: its work is part of the call that computes what
reads it, else of the one that computes what it reads. Each step looks at direct neighbours only.
"""

from collections.abc import Iterable

from registry.nodelinks.network import LinkNetwork


def fill(network: LinkNetwork, owners: dict[int, set[int]]) -> None:
    """Add the calls of all other nodes to ``owners`` (node to numbers of calls), apart from folded
    ones."""
    missing = [
        index for index in network.order if index not in owners and index not in network.folded
    ]
    for nodes, neighbours in ((missing[::-1], network.after), (missing, network.before)):
        for index in nodes:
            around = _owners(neighbours[index], owners)
            if index not in owners and len(around) == 1:
                owners[index] = around
    for index in missing:
        if index not in owners:
            around = _owners([*network.after[index], *network.before[index]], owners)
            if around:
                owners[index] = around


def _owners(nodes: Iterable[int], owners: dict[int, set[int]]) -> set[int]:
    return {call for index in nodes for call in owners.get(index, ())}
