"""Numeric axes: their range, round ticks and labels.

Logarithms are taken here, because ECharts labels only powers of ten on logarithmic axes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log10

from hub.pages.chart.figure import Option

_MOST_TICKS, _FEWEST_TICKS = 8, 4
#: Ticks of one decade, coarse to fine.
_MANTISSAS = (
    (1.0,),
    (1.0, 3.0),
    (1.0, 2.0, 5.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
)
_STEPS = (1.0, 2.0, 2.5, 5.0)


def plain(value: float) -> str:
    """Label of a number: six significant digits at most."""
    return f"{value:.6g}"


def ratio_label(value: float) -> str:
    """Label of a latency as a multiple of the default's: ``0.5×``."""
    return f"{value:.4g}×"


def percent_label(value: float) -> str:
    """Label of a percentage; the sign is left out, for axes that grow in both directions."""
    return f"{abs(value):.4g} %"


def error_label(value: float) -> str:
    """Label of a relative error: ``1.4 %``, or ``2e-6`` below a hundredth of a percent."""
    if value == 0 or value >= 1e-4:
        return f"{100 * value:.2g} %"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def time_label(ns: float) -> str:
    """Label of nanoseconds in the largest fitting unit: ``200 µs``."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from ``low`` to ``high``, in the unit of the data.

    Attributes:
        name: Quantity and unit.
        label: Text of a tick.
        is_log: Whether distances show ratios; ``low`` is then positive.
        marks: Values inside of the range that have ticks, in place of round ones.
    """

    name: str
    low: float
    high: float
    label: Callable[[float], str] = plain
    is_log: bool = False
    marks: tuple[float, ...] = ()

    def at(self, value: float) -> float:
        """Coordinate of a value; values outside of the range are moved to its end."""
        inside = min(max(value, self.low), self.high)
        return round(log10(inside), 6) if self.is_log else round(inside, 9)

    def ticks(self) -> list[float]:
        """Values that are labelled."""
        if self.marks:
            return list(self.marks)
        if not self.is_log:
            return linear_ticks(self.low, self.high)
        return log_ticks(self.low, self.high)

    def option(self, *, is_vertical: bool = False, **more: object) -> Option:
        """The axis for ECharts."""
        ticks = self.ticks()
        values = [self.at(tick) for tick in ticks]
        place: Option = {"nameLocation": "middle", "nameGap": 28}
        if is_vertical:
            place = {"nameLocation": "end", "nameGap": 14, "nameTextStyle": {"align": "left"}}
        return {
            "type": "value",
            "name": self.name,
            **place,
            "min": self.at(self.low),
            "max": self.at(self.high),
            "axisLabel": {"customValues": values, "texts": [self.label(tick) for tick in ticks]},
            "axisTick": {"customValues": values},
            # Zero is a place like others: on a logarithmic axis it stands for 1.
            "axisLine": {"onZero": False},
            **more,
        }

    def count_option(self) -> Option:
        """The axis for ECharts if it shows counts; its ticks are whole numbers."""
        ticks = [tick for tick in linear_ticks(self.low, self.high) if tick == int(tick)]
        values = {"customValues": ticks, "texts": [f"{tick:.0f}" for tick in ticks]}
        marks = {"axisLabel": values, "axisTick": {"customValues": ticks}}
        return self.option() | marks | {"splitLine": {"show": False}}


def log_axis(
    name: str, values: list[float], label: Callable[[float], str] = plain, *, margin: float = 1.15
) -> Axis:
    """A logarithmic axis around positive values, with a margin by which both ends are extended."""
    return Axis(name, min(values) / margin, max(values) * margin, label, is_log=True)


def linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of a round step inside of the range, at most nine."""
    span = high - low
    if span <= 0:
        return [low]
    size = 10.0 ** floor(log10(span / _MOST_TICKS))
    steps = (size * one for one in _STEPS)
    step = next((one for one in steps if span / one <= _MOST_TICKS - 1), 10 * size)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round values inside of the range, about equally far apart as ratios; at most nine."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for mantissas in _MANTISSAS:
        ticks = [
            round(mantissa * 10.0**decade, 15)
            for decade in decades
            for mantissa in mantissas
            if low <= mantissa * 10.0**decade <= high
        ]
        if len(ticks) >= _FEWEST_TICKS:
            return ticks[:: ceil(len(ticks) / _MOST_TICKS)]
    return linear_ticks(low, high)
