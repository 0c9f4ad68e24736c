"""Scopes of nodes, read off their names: ``/encoder/layer.0/attention/MatMul``."""

from collections.abc import Sequence

#: Most levels of a scope, and characters of a level.
MAX_DEPTH, _MAX_LEVEL = 12, 60
#: Least share of the nodes that must have a scope.
_LEAST_SHARE = 0.5
_SEPARATORS = ("/", ".")


def scopes_of(
    nodes: Sequence[int],
    names: Sequence[str],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
) -> dict[int, tuple[str, ...]] | None:
    """Scope of each node; ``None`` if names have none, or all the same one.

    A node without a scope gets that of a consumer, else of a producer.

    Args:
        nodes: In topological order.
        before, after: Producers and consumers of each node; they may lie outside ``nodes``.
    """
    for separator in _SEPARATORS:
        scopes = {node: _scope(names[node], separator) for node in nodes}
        named = sum(1 for scope in scopes.values() if scope)
        if len(nodes) and named >= _LEAST_SHARE * len(nodes) and len(set(scopes.values())) > 2:
            _complete(nodes, scopes, before, after)
            return scopes
    return None


def _scope(name: str, separator: str) -> tuple[str, ...]:
    levels = [level for level in name[:1000].split(separator)[:-1] if level.strip()]
    return tuple(level[:_MAX_LEVEL] for level in levels[:MAX_DEPTH])


def _complete(
    nodes: Sequence[int],
    scopes: dict[int, tuple[str, ...]],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
) -> None:
    for neighbours, sequence in ((after, reversed(nodes)), (before, nodes)):
        for node in sequence:
            if not scopes[node]:
                near = [scopes[other] for other in neighbours[node] if scopes.get(other)]
                scopes[node] = near[0] if len(near) > 0 and len(set(near)) == 1 else ()
