"""Figures of builds and of roofs as texts."""

from hub.pages.chart.axis import error_label
from hub.templatetags.figures import count, latency, percent
from registry.selectors.analysis.measuredbuild import Measure

_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_ENERGIES = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"))


def figure_text(metric: Measure, value: float | None) -> str:
    """A figure with its unit, or the words "not measured"."""
    if value is None:
        return "not evaluated" if metric.name in {"accuracy", "error"} else "not measured"
    return value_text(metric.unit, value)


def value_text(unit: str, value: float) -> str:
    """A value in a unit of :class:`registry.selectors.analysis.measuredbuild.Measure`."""
    match unit:
        case "ns":
            return latency(value)
        case "J":
            return energy(value)
        case "B":
            return size(value)
        case "share":
            return percent(value)
        case "error":
            return error_label(value)
    return f"{count(value)}/s"


def energy(joules: float) -> str:
    """``12.3 mJ``."""
    for one, unit in _ENERGIES:
        if joules >= one:
            return f"{joules / one:.3g} {unit}"
    return f"{joules:.3g} J"


def size(value: float) -> str:
    """Bytes: ``4.8 MiB``."""
    for one, unit in _SIZES:
        if value >= one:
            return f"{value / one:.3g} {unit}"
    return f"{value:.0f} B"


def rate(per_second: float, unit: str) -> str:
    """Operations (``FLOP``, ``OP``) or bytes (``B``) per second: ``205 GFLOP/s``."""
    for one, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if per_second >= one:
            return f"{per_second / one:.3g} {prefix}{unit}/s"
    return f"{per_second:.3g} {unit}/s"
