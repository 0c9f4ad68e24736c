"""The data of a measurement. Imports no NumPy: confined processes load these types first.

Ratios are the candidate's latency over the baseline's: below 1 is faster.
"""

from dataclasses import dataclass
from typing import Literal

Side = Literal["baseline", "candidate"]
Verdict = Literal["faster", "slower", "same", "unstable"]


@dataclass(frozen=True, slots=True)
class Timing:
    """Consecutive runs of one side.

    Attributes:
        samples_ns: Duration of each run.
        involuntary_switches: Times that the process lost its core during these runs; ``None`` if
            unknown.
        peak_rss_bytes: Largest resident memory of the process since its start; ``None`` if unknown.
        caller_placed: Whether the calling thread was kept on the processors that the runtime's
            pinned workers leave to it.
    """

    samples_ns: tuple[int, ...]
    involuntary_switches: int | None = None
    peak_rss_bytes: int | None = None
    caller_placed: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Samples of one ABBA round, in nanoseconds, by pair number ``process``, from 0."""

    process: int
    baseline_ns: tuple[int, ...]
    candidate_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width, relative to the ratio."""
        return (self.high - self.low) / 2 / self.value

    def overlaps(self, other: "Interval") -> bool:
        """Whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, slots=True)
class Deviation:
    """Distance of outputs ``y`` from reference outputs ``ref``, the worst over all outputs.

    Attributes:
        max_absolute: ``max|y - ref|``.
        max_relative: ``max|y - ref| / max|ref|``.
        relative_l2: ``||y - ref|| / ||ref||``.
        cosine: Cosine of the angle between ``y`` and ``ref``.

    All are finite. Of outputs that are not floating-point numbers, the first is 0 or 1 and the
    others follow from the share of elements that differ.
    """

    max_absolute: float
    max_relative: float
    relative_l2: float
    cosine: float
