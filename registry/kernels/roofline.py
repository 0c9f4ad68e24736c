"""The roofline model: the least time that a device needs for given work and traffic.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Roofline:
    """Work of a call, and the roofs of the device that executed it.

    Attributes:
        flops: Floating-point operations, a multiply-add being two.
        traffic: Bytes of its arguments and results, each counted once: the least traffic.
        time_ns: Time of the call.
        peak: Operations per second that the device reached in this precision.
        bandwidth: Bytes per second between the device and its main memory.
    """

    flops: float
    traffic: float
    time_ns: float
    peak: float
    bandwidth: float

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.traffic

    @property
    def ridge(self) -> float:
        """Operations per byte above which the arithmetic is the limit."""
        return self.peak / self.bandwidth

    @property
    def is_memory_bound(self) -> bool:
        return self.intensity < self.ridge

    @property
    def rate(self) -> float:
        """Operations per second reached."""
        return self.flops / self.time_ns * 1e9

    @property
    def of_peak(self) -> float:
        return self.rate / self.peak

    @property
    def least_ns(self) -> float:
        """Time at the roof."""
        return max(self.flops / self.peak, self.traffic / self.bandwidth) * 1e9

    @property
    def of_roof(self) -> float:
        """Share of the attainable speed; above 1 if the data came from a cache."""
        return self.least_ns / self.time_ns


def roofline_of(
    *,
    flops: float | None,
    traffic: float | None,
    time_ns: float,
    peak: float | None,
    bandwidth: float | None,
) -> Roofline | None:
    """A roofline; ``None`` unless all of its numbers are known and positive; ``flops`` may be 0."""
    numbers = (traffic, time_ns, peak, bandwidth)
    positive = [number for number in numbers if number is not None and number > 0]
    if len(positive) < len(numbers) or flops is None or flops < 0:
        return None
    return Roofline(flops, *positive)
