"""Figures of a measurement with the names and units that several formats share."""

from dataclasses import dataclass

from registry.fair.activities import Benchmark

_UNITS = {"ns": "nanoseconds", "1/s": "samples per second", "B": "bytes", "J": "joules"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its confidence interval; ``unit`` is ``ns``, ``1/s``, ``B``, ``J`` or ""."""

    name: str
    value: float
    unit: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def label(self) -> str:
        """The name with the unit, such as ``latency p50 in nanoseconds``."""
        return f"{self.name} in {_UNITS[self.unit]}" if self.unit else self.name


def figures_of(one: Benchmark) -> list[Figure]:
    """The known figures of a benchmark."""
    values: list[tuple[str, float | None, str]] = [
        ("latency p50", one.p50_ns, "ns"),
        ("latency p90", one.p90_ns, "ns"),
        ("latency p95", one.p95_ns, "ns"),
        ("latency p99", one.p99_ns, "ns"),
        ("latency mean", one.mean_ns, "ns"),
        ("throughput", one.throughput_per_s, "1/s"),
        ("peak memory", one.peak_memory_bytes, "B"),
        ("energy of a run", one.energy.joules if one.energy else None, "J"),
        ("timed runs", one.samples, ""),
        ("samples of a run", one.samples_per_run, ""),
    ]
    figures = [Figure(name, value, unit) for name, value, unit in values if value is not None]
    if one.ratio is not None:
        name = f"time over that of {one.baseline}"
        figures.append(Figure(name, one.ratio, "", one.ratio_low, one.ratio_high))
    return figures
