"""Whether another file of a network takes and gives what its ONNX graph does.

Converters rename tensors and put channels last; the order of inputs and outputs they keep.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.engine.types import TensorSpec


class Misfit(Exception):
    """A form's signature is not the graph's; says where."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Which tensor of the form stands for a tensor of the graph.

    Attributes:
        index: Its place among the form's inputs or outputs.
        order: The graph's axes in the form's order where these differ, such as ``(0, 2, 3, 1)``.
    """

    index: int
    order: tuple[int, ...] = ()


def bind(
    own: Sequence[TensorSpec], graph: Sequence[TensorSpec], *, resizable: bool
) -> tuple[Binding, ...]:
    """One binding for each of ``graph``, by name where all names are known and by place otherwise.

    Args:
        own: Inputs or outputs of the form. A dimension that is no integer is open.
        resizable: Whether the form takes sizes besides those it states.

    Raises:
        Misfit: another number of tensors, or one of another element type or shape.
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
    # Straight first: where both fit, nothing says that channels were moved.
    orders = [tuple(range(rank))]
    if rank > 2:
        orders.append((0, *range(2, rank), 1))
    for order in orders:
        if len(other.shape) == rank and all(
            _fits(have, spec.shape[axis], resizable=resizable)
            for have, axis in zip(other.shape, order, strict=True)
        ):
            return Binding(place, () if order == orders[0] else order)
    raise Misfit(
        f"{other.name} has the shape {_shown(other)}, {spec.name} of the graph {_shown(spec)}"
    )


def _fits(have: int | str, wanted: int | str, *, resizable: bool) -> bool:
    if isinstance(have, str):
        return True
    return have == wanted if isinstance(wanted, int) else resizable


def _shown(spec: TensorSpec) -> str:
    return f"[{', '.join(map(str, spec.shape))}]"
