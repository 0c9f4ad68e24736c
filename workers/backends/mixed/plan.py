"""Chooses the precision of each layer: the fastest plan whose predicted error keeps to a budget.

The squares of the layers' errors add up (:mod:`.sensitivity`), and so do their times, and those of
conversions where neighbours differ in precision. Choosing one precision per layer is a
multiple-choice knapsack. It is solved by dynamic programming over steps of the squared error
(Dudzinski and Walukiewicz 1987, "Exact methods for the knapsack problem and its generalizations"),
for each precision of the last layer so far. Squares are rounded up to steps, so that a plan never
exceeds its budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, sqrt

import numpy as np

#: Steps of the squared error from nothing to the budget.
_STEPS = 4000


@dataclass(frozen=True, slots=True)
class StudiedLayer:
    """A layer, or neighbours that get the same precision.

    Attributes:
        names: Of its nodes.
        errors: Precision to the relative error of the outputs when only this layer has it, from the
            most exact precision to the least.
        seconds: Precision to the measured time, for the same precisions.
        conversion_s: Precision to the time of its input's conversion, if this layer or the one
            before has it and the other one a less exact precision; 0 for those left out.
    """

    names: tuple[str, ...]
    errors: Mapping[str, float]
    seconds: Mapping[str, float]
    conversion_s: Mapping[str, float] = field(default_factory=dict)


def choose(layers: Sequence[StudiedLayer], budget: float) -> list[str]:
    """The precision of each layer, for a predicted error of at most ``budget``. If no plan keeps to
    it, the most exact one.

    Args:
        layers: At least one; all have the same precisions.
        budget: Relative L2 error of the outputs; may be infinite.
    """
    exact = [min(layer.errors, key=layer.errors.__getitem__) for layer in layers]
    if predicted_error(layers, exact) > budget or budget <= 0:
        return exact
    # Rounding up the squares might exclude it.
    fastest = _fastest(layers, inf)
    if fastest is not None and predicted_error(layers, fastest) <= budget:
        return fastest
    return _fastest(layers, budget) or exact


def _fastest(layers: Sequence[StudiedLayer], budget: float) -> list[str] | None:
    """The fastest plan whose squared errors, rounded up to steps, keep to a budget; ``None`` if
    there is none."""
    precisions = list(layers[0].errors)
    # Least seconds of the layers so far, by the last one's precision and the number of steps.
    least_s = np.zeros((len(precisions), _STEPS + 1))
    origins = []
    first = replace(layers[0], conversion_s={})
    for layer in (first, *layers[1:]):
        following_s = np.full_like(least_s, np.inf)
        origin = np.zeros(least_s.shape, np.int64)
        for at, precision in enumerate(precisions):
            conversions = [_conversion_s(layer, other, precision) for other in precisions]
            before_s = least_s + np.reshape(conversions, (-1, 1))
            steps = _steps(layer.errors[precision], budget)
            if steps <= _STEPS:
                within = slice(0, _STEPS + 1 - steps)
                following_s[at, steps:] = before_s[:, within].min(axis=0) + layer.seconds[precision]
                origin[at, steps:] = before_s[:, within].argmin(axis=0)
        least_s = following_s
        origins.append(origin)
    at, left = int(least_s[:, -1].argmin()), _STEPS
    if least_s[at, left] == np.inf:
        return None
    plan = []
    for layer, origin in zip(reversed(layers), reversed(origins), strict=True):
        plan.append(precisions[at])
        left, at = left - _steps(layer.errors[precisions[at]], budget), int(origin[at, left])
    return plan[::-1]


def predicted_error(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The relative error of the outputs that the model predicts."""
    pairs = zip(layers, plan, strict=True)
    return sqrt(sum(layer.errors[precision] ** 2 for layer, precision in pairs))


def predicted_seconds(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The time of the layers and of the conversions between them that the model predicts."""
    pairs = zip(layers, plan, strict=True)
    triples = zip(layers[1:], plan, plan[1:], strict=False)
    return sum(layer.seconds[precision] for layer, precision in pairs) + sum(
        _conversion_s(layer, before, own) for layer, before, own in triples
    )


def _conversion_s(layer: StudiedLayer, before: str, own: str) -> float:
    """Time of the conversion of a layer's input, from the precision ``before`` to its ``own``."""
    if before == own:
        return 0.0
    order = list(layer.errors)
    return layer.conversion_s.get(min(before, own, key=order.index), 0.0)


def _steps(error: float, budget: float) -> int:
    return min(ceil(_STEPS * (error / budget) ** 2), _STEPS + 1)
