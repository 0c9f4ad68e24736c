"""Chooses the precision of each layer: the fastest plan whose predicted error keeps to a budget.

The squares of the layers' errors add up (:mod:`.sensitivity`), and so do their times. Choosing one
precision per layer is a multiple-choice knapsack. It is solved by a Lagrange multiplier, the price
of squared error in seconds, which is exact but for the last layer that does not fit (Everett 1963,
"Generalized Lagrange Multiplier Method").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

#: Seconds per squared relative error, of which the largest buys the most exact plan; steps of the
#: bisection between their logarithms.
_LEAST, _MOST, _STEPS = 1e-12, 1e12, 60


@dataclass(frozen=True, slots=True)
class StudiedLayer:
    """A layer, or neighbours that get the same precision.

    Attributes:
        names: Of its nodes.
        errors: Precision to the relative error of the outputs when only this layer has it.
        seconds: Precision to the measured time, for the same precisions.
    """

    names: tuple[str, ...]
    errors: Mapping[str, float]
    seconds: Mapping[str, float]


def choose(layers: Sequence[StudiedLayer], budget: float) -> list[str]:
    """The precision of each layer, for a predicted error of at most ``budget``. If no plan keeps to
    it, the most exact one."""
    low, high = _LEAST, _MOST
    plan = _cheapest(layers, low)
    if predicted_error(layers, plan) <= budget:
        return plan
    best = _cheapest(layers, high)
    for _ in range(_STEPS):
        middle = sqrt(low * high)
        plan = _cheapest(layers, middle)
        if predicted_error(layers, plan) <= budget:
            high, best = middle, plan
        else:
            low = middle
    return best


def predicted_error(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The relative error of the outputs that the model predicts."""
    pairs = zip(layers, plan, strict=True)
    return sqrt(sum(layer.errors[precision] ** 2 for layer, precision in pairs))


def predicted_seconds(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The time of the layers that the model predicts."""
    return sum(layer.seconds[precision] for layer, precision in zip(layers, plan, strict=True))


def _cheapest(layers: Sequence[StudiedLayer], price: float) -> list[str]:
    """For each layer the precision of the least time plus ``price`` times its squared error."""
    plan = []
    for layer in layers:
        costs = {p: layer.seconds[p] + price * layer.errors[p] ** 2 for p in layer.errors}
        plan.append(min(costs, key=costs.__getitem__))
    return plan
