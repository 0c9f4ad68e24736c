"""Fits a plan to a limit on the error: plans are built and checked until one keeps to it.

Errors of whole plans scatter by 10 to 20 % around the predicted ones. After each attempt the
predicted errors are corrected by the observed one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

from workers.backends.mixed.plan import StudiedLayer, choose, predicted_seconds

#: Share of the limit that a build may use: its error on other inputs is a little different.
_MARGIN = 0.9
#: Share of what it may use from which a plan is good enough. Budgets aim at the middle of the rest.
_USED = 0.9
#: Plans that are built and checked, and those if no earlier one keeps to the margin.
_ATTEMPTS, _MOST_ATTEMPTS = 4, 8
#: By which the budget shrinks where it leads to a plan again that exceeded the margin, and the
#: least one, as a share of the limit.
_LESS, _LEAST_BUDGET = 0.9, 0.1
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
    budget = most * (1 + _USED) / 2
    fastest: FittedPlan | None = None
    closest: FittedPlan | None = None
    plans: list[list[str]] = []
    while len(plans) < (_ATTEMPTS if fastest else _MOST_ATTEMPTS):
        while (
            (plan := choose(layers, budget)) in plans
            and not fastest
            and budget > limit * _LEAST_BUDGET
        ):
            budget *= _LESS
        if plan in plans:
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
        layers = _corrected(layers, plan, error)
    return fastest or closest


def _corrected(
    layers: Sequence[StudiedLayer], plan: Sequence[str], error: float
) -> list[StudiedLayer]:
    """The layers with predicted errors that agree with the observed ``error`` of a plan.

    Where the least exact precision causes most of the predicted error, only its errors are
    corrected: a smaller budget for all of them takes the other one from layers, too (ADR 63).
    Otherwise all are corrected alike.
    """
    lowest = list(layers[0].errors)[-1]
    pairs = list(zip(layers, plan, strict=True))
    own = sum(layer.errors[p] ** 2 for layer, p in pairs if p == lowest)
    others = sum(layer.errors[p] ** 2 for layer, p in pairs if p != lowest)
    left = error**2 - others
    if own > others and left > 0:
        factors = {lowest: sqrt(left / own)}
    else:
        factor = error / max(sqrt(own + others), LEAST_ERROR)
        factors = dict.fromkeys(layers[0].errors, max(factor, LEAST_ERROR))
    return [
        replace(layer, errors={p: e * factors.get(p, 1.0) for p, e in layer.errors.items()})
        for layer in layers
    ]
