"""Matches the tensors of an alternative format with those of the ONNX graph.

Converters rename tensors and move channels to the last axis, but keep the order of inputs and
outputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.engine.types import TensorSpec


class Misfit(Exception):
    """The signature differs from the graph's; the message names the tensor."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The tensor of a file that corresponds to one tensor of the graph.

    Attributes:
        index: Position among the file's inputs or outputs.
        order: The graph's axes in the file's order, such as ``(0, 2, 3, 1)``; empty if equal.
    """

    index: int
    order: tuple[int, ...] = ()


def bind(
    own: Sequence[TensorSpec], graph: Sequence[TensorSpec], *, resizable: bool
) -> tuple[Binding, ...]:
    """Bind each tensor of ``graph``: by name if the names are the same, else by position.

    Args:
        own: Inputs or outputs of the file. A dimension that is not an integer is dynamic.
        resizable: Whether the file accepts sizes other than those it states.

    Raises Misfit if the number, an element type or a shape of the tensors differs.
    """
    if len(own) != len(graph):
        raise Misfit(f"it has {len(own)} of them, the graph {len(graph)}")
    places = {spec.name: place for place, spec in enumerate(own)}
    named = places.keys() == {spec.name for spec in graph}
    return tuple(
        _binding(own, places[spec.name] if named else place, spec, resizable=resizable)
        for place, spec in enumerate(graph)
    )


def _binding(
    own: Sequence[TensorSpec], place: int, spec: TensorSpec, *, resizable: bool
) -> Binding:
    other = own[place]
    if other.dtype != spec.dtype:
        raise Misfit(f"{other.name} is {other.dtype}, {spec.name} of the graph {spec.dtype}")
    rank = len(spec.shape)
    # The unchanged order first: if both match, nothing indicates moved channels.
    orders = [tuple(range(rank))]
    if rank > 2:
        orders.append((0, *range(2, rank), 1))
    for order in orders:
        if len(other.shape) == rank and all(
            _fits(size, spec.shape[axis], resizable=resizable)
            for size, axis in zip(other.shape, order, strict=True)
        ):
            return Binding(place, () if order == orders[0] else order)
    raise Misfit(
        f"{other.name} has the shape {_shown(other)}, {spec.name} of the graph {_shown(spec)}"
    )


def _fits(own: int | str, size: int | str, *, resizable: bool) -> bool:
    if isinstance(own, str):
        return True
    return own == size if isinstance(size, int) else resizable


def _shown(spec: TensorSpec) -> str:
    return f"[{', '.join(map(str, spec.shape))}]"
