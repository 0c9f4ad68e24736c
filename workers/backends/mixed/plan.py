"""Chooses the precision of each layer: the fastest plan whose predicted error keeps to a budget.

The squares of the layers' errors add up (:mod:`.sensitivity`), and so do their times. Choosing one
precision per layer is a multiple-choice knapsack. It is solved by dynamic programming over steps of
the squared error (Dudzinski and Walukiewicz 1987, "Exact methods for the knapsack problem and its
generalizations"). Squares are rounded up to steps, so that a plan never exceeds its budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

#: Steps of the squared error from nothing to the budget.
_STEPS = 4000


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
    it, the most exact one.

    Args:
        budget: Relative L2 error of the outputs; may be infinite.
    """
    exact = [min(layer.errors, key=layer.errors.__getitem__) for layer in layers]
    fastest = [min(layer.seconds, key=layer.seconds.__getitem__) for layer in layers]
    if predicted_error(layers, exact) > budget or budget <= 0:
        return exact
    if predicted_error(layers, fastest) <= budget:
        return fastest
    # Least seconds of the layers so far for each number of steps, and the last one's precision.
    least_s = np.zeros(_STEPS + 1)
    choices = []
    for layer in layers:
        options = []
        for precision, error in layer.errors.items():
            steps = _steps(error, budget)
            seconds = np.full(_STEPS + 1, np.inf)
            if steps <= _STEPS:
                seconds[steps:] = least_s[: _STEPS + 1 - steps] + layer.seconds[precision]
            options.append(seconds)
        choices.append(np.argmin(options, axis=0))
        least_s = np.min(options, axis=0)
    if least_s[-1] == np.inf:
        return exact
    left, plan = _STEPS, []
    for layer, choice in zip(reversed(layers), reversed(choices), strict=True):
        precision = list(layer.errors)[choice[left]]
        plan.append(precision)
        left -= _steps(layer.errors[precision], budget)
    return plan[::-1]


def predicted_error(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The relative error of the outputs that the model predicts."""
    pairs = zip(layers, plan, strict=True)
    return sqrt(sum(layer.errors[precision] ** 2 for layer, precision in pairs))


def predicted_seconds(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> float:
    """The time of the layers that the model predicts."""
    return sum(layer.seconds[precision] for layer, precision in zip(layers, plan, strict=True))


def _steps(error: float, budget: float) -> int:
    return min(ceil(_STEPS * (error / budget) ** 2), _STEPS + 1)
