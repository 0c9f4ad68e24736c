"""Measured speed in words. Pure functions; absent values are ""."""

from hpcfair.outputlimits import relative_error
from registry.tables import Build


def times(gain: float) -> str:
    """A gain as a factor: ``2.1``, ``1.25``; two digits, and three below 2."""
    if gain >= 99.5:
        return f"{gain:.0f}"
    return f"{gain:.2g}" if gain >= 1.995 else f"{gain:.3g}"


def speed(ratio: float) -> str:
    """A ratio of latencies to the default's: ``2.1 times as fast``."""
    factor = times(max(ratio, 1 / ratio))
    if factor == "1":
        return "as fast as the default"
    return f"{factor} times as {'fast' if ratio < 1 else 'slow'}"


def share(ratio: float) -> str:
    """A ratio of latencies in percent, at most 100: the length of a bar."""
    return f"{min(100 * ratio, 100.0):.1f}"


def deviation(error: float | None) -> str:
    """A relative error of outputs: ``answers differ by 1.4 %``."""
    if error is None:
        return ""
    if error < 1e-4:
        return "same answers to within 0.01 %"
    return f"answers differ by {100 * error:.2g} %"


def accuracy(value: float | None, reference: float | None) -> str:
    """Accuracy on labelled samples, and that of unoptimised float32: ``98.6 of 98.6 %``."""
    if value is None:
        return ""
    if reference is None:
        return f"accuracy {100 * value:.1f} %"
    return f"accuracy {100 * value:.1f} of {100 * reference:.1f} %"


def cost(build: Build) -> str:
    """What a build costs in exactness: deviation and accuracy."""
    parts = (
        deviation(relative_error(build.tolerance, build.deviation)),
        accuracy(build.accuracy, build.accuracy_reference),
    )
    return ", ".join(part for part in parts if part)
