"""Fits a plan to a limit on the error: plans are built and checked until one keeps to it.

Errors of whole plans scatter by 10 to 20 % around the predicted ones. Each attempt corrects the
budget of the next one by the observed error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

from workers.backends.mixed.plan import StudiedLayer, choose, predicted_error, predicted_seconds

#: Share of the limit that a build may use: its error on other inputs is a little different.
_MARGIN = 0.9
#: Share of what it may use from which a plan is good enough. Budgets aim at the middle of the rest.
_USED = 0.9
#: Plans that are built and checked, and those if no earlier one keeps to the margin.
_ATTEMPTS, _MOST_ATTEMPTS = 4, 8
#: Errors below are none.
LEAST_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class FittedPlan:
    """A plan, the observed error of its network, and the network."""

    plan: list[str]
    error: float
    network: Any


def fit(
    limit: float,
    layers: Sequence[StudiedLayer],
    build: Callable[[list[str]], tuple[Any, float]],
) -> FittedPlan | None:
    """The fastest plan whose observed error keeps to a margin below ``limit``; without one, that
    with the least error within the limit, which further checks may accept; ``None`` without any.

    Args:
        build: Makes the network of a plan; returns it with its error.
    """
    most = _MARGIN * limit
    aim = budget = most * (1 + _USED) / 2
    low, high = 0.0, inf
    fastest: FittedPlan | None = None
    closest: FittedPlan | None = None
    plans: list[list[str]] = []
    while len(plans) < (_ATTEMPTS if fastest else _MOST_ATTEMPTS):
        if (plan := choose(layers, budget)) in plans:
            break
        plans.append(plan)
        network, error = build(plan)
        fitted = FittedPlan(plan, error, network)
        seconds = predicted_seconds(layers, plan)
        if error <= most and (fastest is None or seconds < predicted_seconds(layers, fastest.plan)):
            fastest = fitted
        if error <= limit and (closest is None or error < closest.error):
            closest = fitted
        if _USED * most <= error <= most:
            break
        low, high = (budget, high) if error <= most else (low, budget)
        # Predicted errors are off by a factor that differs little between similar plans.
        budget = aim * predicted_error(layers, plan) / max(error, LEAST_ERROR)
        if not low < budget < high:
            budget = sqrt(low * high) if low and high < inf else low * 2 or high / 2
    return fastest or closest
