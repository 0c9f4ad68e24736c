"""Measured speed in words. Pure functions; absent values are ""."""

from collections.abc import Mapping

from registry.scenarios import Scenario
from registry.selectors.search.speeds import Speed
from registry.tables import Build

#: Relative error of outputs below which they are shown as the same.
_LEAST_ERROR = 1e-4


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


def answer(
    target: str, best: Build | None, probable: Mapping[str, float], *, is_inconclusive: bool
) -> str:
    """The speed of a model on a target in one sentence.

    Args:
        best: Its best build.
        probable: Tolerance class to gain, of builds that are still being confirmed.
        is_inconclusive: Whether measurements decided nothing in some class.
    """
    if best is not None and not best.is_baseline:
        return f"{speed(best.ratio).capitalize()} on {target}"
    if probable:
        return f"Probably {speed(1 / max(probable.values()))} on {target}, being confirmed"
    if is_inconclusive:
        return f"On {target} measurements decided nothing so far"
    return f"On {target} the default is the fastest build so far"


def share(ratio: float) -> str:
    """A ratio of latencies in percent, at most 100: the length of a bar."""
    return f"{min(100 * ratio, 100.0):.1f}"


def deviation(error: float | None) -> str:
    """A relative error of outputs: ``answers differ by 1.4 %``."""
    if error is None:
        return ""
    if error < _LEAST_ERROR:
        return f"same answers to within {error_share(_LEAST_ERROR)}"
    return f"answers differ by {error_share(error)}"


def error_share(error: float) -> str:
    """A relative error, to two digits: 0.0084 -> ``0.84 %``."""
    return f"{100 * error:.2g} %"


def error_label(error: float | None) -> str:
    """A relative error of outputs for the column of a table: ``1.4 %``, or ``< 0.01 %``."""
    if error is None:
        return ""
    return f"< {error_share(_LEAST_ERROR)}" if error < _LEAST_ERROR else error_share(error)


def accuracy(value: float | None, reference: float | None) -> str:
    """Accuracy on labelled samples, and that of unoptimised float32: ``98.6 of 98.6 %``."""
    if value is None:
        return ""
    if reference is None:
        return f"accuracy {100 * value:.1f} %"
    return f"accuracy {100 * value:.1f} of {100 * reference:.1f} %"


def per_second(build: Build | Speed) -> str:
    """The throughput of a build for many samples: ``1,240 samples/s``."""
    value = build.throughput_per_s
    return "" if value is None else samples_per_second(value)


def samples_per_second(value: float) -> str:
    """A throughput: ``1,240 samples/s``."""
    return f"{value:,.0f} samples/s" if value >= 100 else f"{value:.3g} samples/s"


def execution(build: Build | Speed) -> str:
    """How a build processes many samples: ``batch 16, one stream per core``."""
    if build.scenario == Scenario.SINGLE_STREAM:
        return ""
    execution = build.execution or {"batch": 1, "streams": "one"}
    streams = "one stream per core" if execution["streams"] == "cores" else "one stream"
    return f"batch {execution['batch']}, {streams}"


def cost(build: Build) -> str:
    """What a build costs in exactness: deviation and accuracy."""
    parts = (
        deviation(build.relative_error),
        accuracy(build.accuracy, build.accuracy_reference),
    )
    return ", ".join(part for part in parts if part)
