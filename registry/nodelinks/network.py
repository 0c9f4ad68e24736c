"""A network as its links need it: labelled nodes, edges, and which nodes need no kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

#: Operators that compilers remove, or that only change a view of a tensor.
FREE = frozenset(
    (  # noqa: SIM905
        "Identity Dropout Constant ConstantOfShape Shape Size Reshape Flatten Squeeze Unsqueeze"
        " Cast CastLike QuantizeLinear DequantizeLinear DynamicQuantizeLinear Range NonZero Expand"
        " Slice Transpose Concat Split Pad"
    ).split()
)
#: Operators that always take a kernel of their own, or the main part of one.
HEAVY = frozenset(
    (  # noqa: SIM905
        "Conv ConvTranspose ConvInteger QLinearConv MatMul Gemm MatMulInteger QLinearMatMul Einsum"
        " LSTM GRU RNN"
    ).split()
)


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """A node by its position in the file.

    Attributes:
        operator: Without its domain.
        outputs: Names of the tensors it makes.
        shape: Of its first output, ``None`` for sizes that are not fixed; ``None`` if unknown.
    """

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shape: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class LinkNetwork:
    """Nodes in the order of the file.

    Attributes:
        constants: Names of tensors that are stored in the file.
        outputs: Names of the network's outputs.
    """

    nodes: tuple[NetworkNode, ...]
    constants: frozenset[str] = frozenset()
    outputs: frozenset[str] = frozenset()

    @cached_property
    def before(self) -> list[list[int]]:
        """The nodes that make the inputs of each node, without repetitions."""
        makers = {name: index for index, node in enumerate(self.nodes) for name in node.outputs}
        return [
            list(dict.fromkeys(makers[name] for name in node.inputs if name in makers))
            for node in self.nodes
        ]

    @cached_property
    def after(self) -> list[list[int]]:
        """The nodes that take an output of each node."""
        readers: list[list[int]] = [[] for _ in self.nodes]
        for index, sources in enumerate(self.before):
            for source in sources:
                readers[source].append(index)
        return readers

    @cached_property
    def order(self) -> list[int]:
        """Positions in topological order, the file's where it is one; the file's order for a graph
        with a cycle, which no network has."""
        sorter = TopologicalSorter(dict(enumerate(self.before)))
        try:
            return list(sorter.static_order())
        except CycleError:
            return list(range(len(self.nodes)))

    @cached_property
    def folded(self) -> frozenset[int]:
        """Nodes that take constants only, so that compilers evaluate them."""
        constants, folded = set(self.constants), set()
        for index in self.order:
            node = self.nodes[index]
            if all(name in constants for name in node.inputs if name):
                constants.update(node.outputs)
                folded.add(index)
        return frozenset(folded)

    @cached_property
    def free(self) -> frozenset[int]:
        """Nodes that need no kernel of their own."""
        views = {index for index, node in enumerate(self.nodes) if node.operator in FREE}
        return self.folded | views

    @cached_property
    def heavy(self) -> frozenset[int]:
        """Nodes that need a kernel in every runtime."""
        rows = {index for index, node in enumerate(self.nodes) if node.operator in HEAVY}
        return frozenset(rows) - self.folded

    @cached_property
    def needs(self) -> list[frozenset[int]]:
        """The nodes with kernels whose results each node takes, directly or through free ones."""
        needs: list[frozenset[int]] = [frozenset() for _ in self.nodes]
        for index in self.order:
            sources: set[int] = set()
            for source in self.before[index]:
                sources |= needs[source] if source in self.free else {source}
            needs[index] = frozenset(sources)
        return needs

    @cached_property
    def heavy_needs(self) -> list[frozenset[int]]:
        """The last heavy nodes before each node."""
        needs: list[frozenset[int]] = [frozenset() for _ in self.nodes]
        for index in self.order:
            sources: set[int] = set()
            for source in self.before[index]:
                sources |= {source} if source in self.heavy else needs[source]
            needs[index] = frozenset(sources)
        return needs

    def ancestors(self, nodes: Sequence[int]) -> set[int]:
        """All nodes that ``nodes`` depend on, without themselves."""
        return self._reach(nodes, self.before)

    def descendants(self, nodes: Sequence[int]) -> set[int]:
        """All nodes that depend on ``nodes``, without themselves."""
        return self._reach(nodes, self.after)

    @staticmethod
    def _reach(nodes: Sequence[int], neighbours: list[list[int]]) -> set[int]:
        reached: set[int] = set()
        waiting = list(nodes)
        while waiting:
            for other in neighbours[waiting.pop()]:
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return reached - set(nodes)
