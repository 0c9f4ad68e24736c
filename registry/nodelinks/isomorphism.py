"""Places of a pattern in a network, by VF2 (Cordella et al. 2004) as rustworkx implements it."""

from collections.abc import Iterator
from functools import cached_property

import rustworkx as rx

from registry.nodelinks.kinds import Pattern, Slot
from registry.nodelinks.network import LinkNetwork

#: Bounds on the states that a search for one pattern visits, and on the places that it returns.
MOST_STATES, MOST_PLACES = 2_000_000, 20_000

#: Positions of nodes, the main operator's first.
Place = tuple[int, ...]


class PatternSearch:
    """Finds patterns in one network; each pattern is searched for once."""

    def __init__(self, network: LinkNetwork) -> None:
        self._network = network
        self._places: dict[Pattern, list[Place]] = {}
        self._by_node: dict[Pattern, dict[int, list[Place]]] = {}

    def places(self, pattern: Pattern) -> list[Place]:
        """Where the pattern occurs, in topological order.

        Only places that one kernel can compute: no value inside is read outside, apart from that of
        the last node. Folded nodes are no part of a place.
        """
        if pattern not in self._places:
            self._places[pattern] = sorted(self._find(pattern), key=self.rank)
        return self._places[pattern]

    def places_with(self, pattern: Pattern, node: int) -> list[Place]:
        """The :meth:`places` that contain ``node``."""
        if pattern not in self._by_node:
            by_node: dict[int, list[Place]] = {}
            for place in self.places(pattern):
                for index in place:
                    by_node.setdefault(index, []).append(place)
            self._by_node[pattern] = by_node
        return self._by_node[pattern].get(node, [])

    def rank(self, place: Place) -> int:
        """Topological position of the last node of a place."""
        return max(map(self.position, place))

    def position(self, node: int) -> int:
        """Topological position of a node."""
        return self._positions[node]

    def _find(self, pattern: Pattern) -> Iterator[Place]:
        nodes = self._network.nodes
        if len(pattern.slots) == 1:
            for index, node in enumerate(nodes):
                if node.operator in pattern.slots[0] and index not in self._network.folded:
                    yield (index,)
            return
        shape = rx.PyDiGraph()
        shape.add_nodes_from(pattern.slots)
        shape.add_edges_from_no_data(list(pattern.edges))
        mappings = rx.vf2_mapping(
            self._graph,
            shape,
            node_matcher=_fits,
            subgraph=True,
            induced=False,
            call_limit=MOST_STATES,
        )
        seen: set[frozenset[int]] = set()
        for mapping in mappings:
            place = tuple(self._at[one] for one, _ in sorted(mapping.items(), key=lambda i: i[1]))
            members = frozenset(place)
            if members not in seen and self._is_closed(members):
                seen.add(members)
                yield place
            if len(seen) >= MOST_PLACES:
                return

    def _is_closed(self, members: frozenset[int]) -> bool:
        """Whether at most one member's value is read outside, or is an output of the network."""
        network, read = self._network, 0
        for index in members:
            leaves = any(reader not in members for reader in network.after[index])
            read += leaves or any(name in network.outputs for name in network.nodes[index].outputs)
        return read <= 1

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {index: number for number, index in enumerate(self._network.order)}

    @cached_property
    def _at(self) -> list[int]:
        """Position in the file of each node of the searched graph."""
        folded = self._network.folded
        return [index for index in range(len(self._network.nodes)) if index not in folded]

    @cached_property
    def _graph(self) -> "rx.PyDiGraph[str, None]":
        graph: rx.PyDiGraph[str, None] = rx.PyDiGraph()
        graph.add_nodes_from([self._network.nodes[index].operator for index in self._at])
        number = {index: place for place, index in enumerate(self._at)}
        graph.add_edges_from_no_data(
            [
                (number[source], number[index])
                for index in self._at
                for source in self._network.before[index]
                if source in number
            ]
        )
        return graph


def _fits(operator: str, slot: Slot) -> bool:
    return operator in slot
