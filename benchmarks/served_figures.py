"""The figures of the benchmark ``served``: which builds each one counts."""

from dataclasses import dataclass, replace
from math import inf

from hpcfair.precisions import Tolerance
from workers.device.best import best_result
from workers.engine.confirmation import ConfirmedResult
from workers.engine.search_result import SearchResult


@dataclass(frozen=True, slots=True)
class Accepted:
    """The builds that a user accepts.

    Attributes:
        tolerance: A class, or the largest relative error, as ``load`` takes them.
        error: Largest ``relative_l2`` on the test inputs, where the class itself allows more.
        points_lost: Most points of accuracy that may be lost; only models with labels count.
    """

    tolerance: Tolerance | float
    error: float = inf
    points_lost: float | None = None


#: Figure to the builds that it counts.
CLASSES: dict[str, Accepted] = {
    "exact": Accepted("exact"),
    "bf16": Accepted("bf16", 0.01),
    "bf16_hub": Accepted("bf16"),
    "int8": Accepted("int8"),
    "within_1_percent": Accepted(0.01),
    "within_half_point": Accepted("int8", points_lost=0.5),
}


def best_within(result: SearchResult, accepted: Accepted) -> ConfirmedResult:
    """The build that a user of the hub gets."""
    floor = None
    if accepted.points_lost is not None and result.reference_accuracy is not None:
        floor = result.reference_accuracy - accepted.points_lost / 100
    near = [
        each
        for each in result.confirmed_results
        if each.output_check.deviation.relative_l2 <= accepted.error
    ]
    return best_result(replace(result, confirmed_results=tuple(near)), accepted.tolerance, floor)


def speedup_of(confirmed: ConfirmedResult) -> dict[str, float]:
    """How many times as fast as the baseline a build is, with its interval, for results."""
    ratio = confirmed.measurement.ratio
    return {"speedup": 1 / ratio.value, "low": 1 / ratio.high, "high": 1 / ratio.low}
