"""The baseline's level over several measurements: is a measurement's baseline what it usually is?

The baseline is the same build in every measurement of a search. Where it suddenly takes 1.8 times
as long, or half as long, something else than the candidate has changed, perhaps for one side only,
and the ratio says nothing.
"""

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import median, median_low

import numpy as np

from hpcfair.measurement.types import Block

#: Measurements, centred on the one in question, whose median is its level: a change that lasts
#: longer than half of them, such as a warmer processor, moves the level.
WINDOW = 9
#: Relative distance from the level that always belongs to the spread: guests of a shared machine
#: drift by as much.
LEAST_SPREAD = 0.25
#: The spread is this multiple of the standard deviation, which is estimated by the median absolute
#: deviation. Normal noise of any size exceeds it in 0.3 % of measurements.
_DEVIATIONS, _NORMAL = 3.0, 1.4826
#: Times that a measurement is repeated in fresh processes while its baseline is off its level.
MOST_REPETITIONS = 2


class BaselineLevel:
    """The baseline's latencies, measurement by measurement, in order of time.

    The level of a measurement is the median of a window around it, so it follows a drift. Of two
    levels that are equally frequent, the lower one counts: disturbances make runs longer. The
    spread follows the noise of the machine. It is estimated from the distances of all measurements,
    and of those at or below their levels; the smaller one counts, since slow measurements enlarge
    only the first.
    """

    def __init__(self) -> None:
        self._logarithms: list[float] = []

    def add(self, latency_ns: float) -> int:
        """Append a measurement's latency, above 0; returns its index."""
        self._logarithms.append(log(latency_ns))
        return len(self._logarithms) - 1

    @property
    def latency_ns(self) -> float | None:
        """The level after the last measurement; ``None`` before the first one."""
        recent = self._logarithms[-WINDOW:]
        return exp(median_low(recent)) if recent else None

    def shift(self, index: int) -> float:
        """The latency of a measurement divided by its level."""
        return exp(self._distances()[index])

    def is_off(self, index: int) -> bool:
        """Whether a measurement is farther from its level than the spread, above or below. May
        change as measurements are added."""
        distances = self._distances()
        deviation = min(
            median(abs(each) for each in distances),
            median(-each for each in distances if each <= 0),
        )
        spread = _DEVIATIONS * _NORMAL * deviation
        return abs(distances[index]) > max(spread, log(1 + LEAST_SPREAD))

    def _distances(self) -> list[float]:
        values = self._logarithms
        last = max(0, len(values) - WINDOW)
        starts = (min(max(0, at - WINDOW // 2), last) for at in range(len(values)))
        return [
            value - median_low(values[start : start + WINDOW])
            for value, start in zip(values, starts, strict=True)
        ]


def farthest(shifts: Iterable[float]) -> float:
    """The shift that is farthest from 1, above or below; there must be one."""
    return max(shifts, key=lambda shift: max(shift, 1 / shift))


def baseline_latency_ns(blocks: Sequence[Block]) -> float:
    """Median latency of the baseline in one or more rounds."""
    return float(np.median(np.concatenate([block.baseline_ns for block in blocks])))
