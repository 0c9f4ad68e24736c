"""How two networks differ, node by node, whatever their nodes are called.

Nodes are matched in three steps. A node whose inputs were computed alike, back to the network's
inputs, is the same (forward hash); so is one whose outputs are used alike (backward hash). Of the
others, those of the same name and operator belong together, and then those in the same order of
operators. What remains was added or removed. Hashes take linear time; only the last step compares
sequences, of the nodes between what is alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import Any, Final

#: Nodes that the last step compares at most, on each side; its time grows with their product.
_MOST_ALIGNED: Final = 2000
_STATISTICS: Final = ("counted", "min", "max", "mean", "std")


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that was added, removed or changed.

    Attributes:
        before, after: Positions; ``None`` on the side that lacks it.
        operator: Of the side that has it, the later one if both have.
        what: What changed: ``attributes``, ``operator``, ``parameter shapes``, ``weights``,
            ``output``, ``inputs``; empty for added and removed nodes.
    """

    before: int | None
    after: int | None
    operator: str
    name: str
    what: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """How two networks differ.

    Attributes:
        matches: Position before to position after, of the nodes that belong together.
        changes: In the order of the later network; removed nodes where they were.
        renamed: Number of unchanged nodes with other names.
        is_partial: Whether so much differs that nodes were not aligned by order.
    """

    matches: dict[int, int]
    changes: list[NodeChange] = field(default_factory=list)
    renamed: int = 0
    is_partial: bool = False

    def count(self, kind: str) -> int:
        """Number of nodes that were ``added``, ``removed`` or ``changed``."""
        return sum(change.kind == kind for change in self.changes)


def graph_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> GraphDifference:
    """The difference of two documents of schema ``hpcfair.topology/1``."""
    one, other = _Side(before), _Side(after)
    matches: dict[int, int] = {}
    _match(matches, one.forward(), other.forward())
    _match(matches, one.backward(), other.backward())
    _match(matches, one.named(), other.named())
    left = [at for at in range(one.count) if at not in matches]
    taken = set(matches.values())
    right = [at for at in range(other.count) if at not in taken]
    is_partial = max(len(left), len(right)) > _MOST_ALIGNED
    if not is_partial:
        tokens = [one.operators[at] for at in left], [other.operators[at] for at in right]
        for block in SequenceMatcher(None, *tokens, autojunk=False).get_matching_blocks():
            for step in range(block.size):
                matches[left[block.a + step]] = right[block.b + step]
    return _difference(one, other, matches, is_partial=is_partial)


def _match(matches: dict[int, int], before: Sequence[str], after: Sequence[str]) -> None:
    """Match unmatched nodes of equal keys, in their order; nodes with an empty key have none."""
    taken = set(matches.values())
    waiting: dict[str, list[int]] = {}
    for at, key in enumerate(after):
        if key and at not in taken:
            waiting.setdefault(key, []).append(at)
    for queue in waiting.values():
        queue.reverse()
    for at, key in enumerate(before):
        if key and at not in matches and waiting.get(key):
            matches[at] = waiting[key].pop()


def _difference(
    one: "_Side", other: "_Side", matches: dict[int, int], *, is_partial: bool
) -> GraphDifference:
    origins = {after: before for before, after in matches.items()}
    changes: list[tuple[float, NodeChange]] = []
    renamed = 0
    for at in range(other.count):
        before = origins.get(at)
        if before is None:
            changes.append((at, NodeChange(None, at, other.operators[at], other.names[at])))
            continue
        what = _what(one, other, before, at, origins)
        if what:
            change = NodeChange(before, at, other.operators[at], other.names[at], what)
            changes.append((at, change))
        elif one.names[before] != other.names[at]:
            renamed += 1
    place = -1.0
    for before in range(one.count):
        if before in matches:
            place = float(matches[before])
        else:
            removed = NodeChange(before, None, one.operators[before], one.names[before])
            changes.append((place + 0.5, removed))
    changes.sort(key=lambda pair: pair[0])
    return GraphDifference(matches, [change for _, change in changes], renamed, is_partial)


def _what(
    one: "_Side", other: "_Side", before: int, after: int, origins: Mapping[int, int]
) -> tuple[str, ...]:
    sides: tuple[tuple[str, Callable[[_Side, int], Any]], ...] = (
        ("operator", lambda side, at: side.operators[at]),
        ("attributes", lambda side, at: side.attributes.get(at, ())),
        ("parameter shapes", lambda side, at: side.parameters(at)),
        ("output", lambda side, at: side.output(at)),
    )
    what = [name for name, value in sides if value(one, before) != value(other, after)]
    if "parameter shapes" not in what and one.weights(before) != other.weights(after):
        what.append("weights")
    producers = [origins.get(each, -1) if each >= 0 else -2 for each in other.producers(after)]
    if producers != [each if each >= 0 else -2 for each in one.producers(before)]:
        what.append("inputs")
    return tuple(what)


class _Side:
    """One of the two networks."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        nodes, tensors = document["nodes"], document["tensors"]
        names: Sequence[str] = document["operators"]
        self.operators = [names[at] for at in nodes["operator"]]
        self.names: Sequence[str] = nodes["name"]
        self.count = len(self.operators)
        self.attributes: dict[int, tuple[tuple[str, ...], ...]] = {}
        for node, *rest in sorted(document["attributes"]):
            self.attributes[node] = (*self.attributes.get(node, ()), tuple(map(str, rest)))
        self._inputs: Sequence[Sequence[int]] = nodes["inputs"]
        self._outputs: Sequence[Sequence[int]] = nodes["outputs"]
        self._shapes, self._dtypes = tensors["shape"], tensors["dtype"]
        self._dtype_names: Sequence[str] = document["dtypes"]
        self._makers = {
            number: node
            for node, made in enumerate(self._outputs)
            for number in made
            if number >= 0
        }
        initializers = document["initializers"]
        self._statistics = dict(
            zip(initializers["tensor"], initializers["statistics"], strict=True)
        )

    def producers(self, at: int) -> list[int]:
        """Nodes that make the inputs of a node; -1 for inputs of the network and constants."""
        return [self._makers.get(number, -1) for number in self._inputs[at]]

    def parameters(self, at: int) -> list[str]:
        """Types of the constants that a node reads."""
        return [self._type(number) for number in self._inputs[at] if number in self._statistics]

    def output(self, at: int) -> list[str]:
        """Types of the outputs of a node."""
        return [self._type(number) for number in self._outputs[at] if number >= 0]

    def weights(self, at: int) -> list[tuple[Any, ...]]:
        """Statistics of the constants that a node reads, which differ where the numbers do."""
        statistics = [self._statistics.get(number) for number in self._inputs[at]]
        return [tuple(each[name] for name in _STATISTICS) for each in statistics if each]

    def named(self) -> list[str]:
        """Operator and name of each node; nodes without a name have no key."""
        pairs = zip(self.operators, self.names, strict=True)
        return [f"{operator}\0{name}" if name else "" for operator, name in pairs]

    def forward(self) -> list[str]:
        """Hash of each node with all that it depends on. Nodes are in topological order."""
        hashes: list[str] = []
        for at in range(self.count):
            parts = [self._token(at)]
            for number, producer in zip(self._inputs[at], self.producers(at), strict=True):
                is_before = 0 <= producer < at
                slot = self._outputs[producer].index(number) if is_before else 0
                parts.append(f"{hashes[producer]}:{slot}" if is_before else self._source(number))
            hashes.append(_hash(parts))
        return hashes

    def backward(self) -> list[str]:
        """Hash of each node with all that depends on it."""
        uses: dict[int, list[tuple[int, int]]] = {}
        for node in range(self.count):
            for slot, number in enumerate(self._inputs[node]):
                uses.setdefault(number, []).append((node, slot))
        hashes = [""] * self.count
        for at in reversed(range(self.count)):
            parts = [self._token(at)]
            for slot, number in enumerate(self._outputs[at]):
                of_output = sorted(
                    f"{hashes[node]}:{place}" for node, place in uses.get(number, ())
                )
                parts.append(f"{slot}({','.join(of_output)})")
            hashes[at] = _hash(parts)
        return hashes

    def _token(self, at: int) -> str:
        return repr((self.operators[at], self.attributes.get(at, ()), self.parameters(at)))

    def _source(self, number: int) -> str:
        return "none" if number < 0 else f"given {self._type(number)}"

    def _type(self, number: int) -> str:
        dtype = self._dtypes[number]
        name = self._dtype_names[dtype] if dtype >= 0 else "unknown"
        return f"{name}{self._shapes[number]}"


def _hash(parts: Sequence[str]) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()
