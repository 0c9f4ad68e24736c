"""A chart: its marks as an option for ECharts, and the same data as a table.

``hub/assets/chart`` draws the option in the browser. It is plain JSON with four conventions:

- A colour is the name of a property of the style sheet, such as ``--series-1``.
- ``axisLabel.texts`` holds the labels of ``axisLabel.customValues``, in the same order.
- ``renderItem`` of a custom series names a function of ``hub/assets/chart/marks.js``.
- A mark has the lines of its tooltip in ``tip``; a mark that can be chosen has an ``id``.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

#: An object of ECharts' option as JSON.
Option: TypeAlias = dict[str, Any]

#: Shapes of marks by the number of their series, as ECharts names them. With the colours of the
#: same numbers, so that no series is told by its colour alone.
SYMBOLS = ("circle", "rect", "diamond", "triangle", "roundRect", "pin")


@dataclass(frozen=True, slots=True)
class LinkedText:
    """A cell of a table that leads to a page."""

    text: str
    address: str


Cell: TypeAlias = str | LinkedText


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table; numbers are aligned to the right."""

    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend: name, shape and colour of the marks of a series.

    Attributes:
        symbol: One of :data:`SYMBOLS`, or ``line``, ``dashes``, ``tick``, ``arrow``.
        color: Name of a property of the style sheet without its dashes, such as ``series-1``.
    """

    name: str
    symbol: str
    color: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for ``templates/partials/chart.html``.

    Attributes:
        name: Unique on its page; prefix of the ids of its elements.
        title: Title, also of the exported picture.
        description: What the chart shows and its main result, for screen readers.
        caption: How to read the chart, and what it leaves out.
        option: For ECharts, by the conventions of this module.
        columns, rows: The same data as a table.
        keys: The legend.
        height: Pixels.
        chosen: ``id`` of the mark that is chosen at first; "" if none is.
    """

    name: str
    title: str
    description: str
    caption: str
    option: Option
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    keys: tuple[Key, ...] = ()
    height: int = 320
    chosen: str = ""

    @property
    def option_id(self) -> str:
        """Id of the element that holds the option."""
        return f"{self.name}-option"

    @property
    def body(self) -> SafeString:
        """The rows of the table as HTML. A template would take ten times as long for thousands of
        cells."""
        return mark_safe("\n".join(map(self._row, self.rows)))  # noqa: S308 - cells are escaped

    def _row(self, row: tuple[Cell, ...]) -> str:
        cells = zip(self.columns, row, strict=True)
        return f"<tr>{''.join(_cell(column, cell) for column, cell in cells)}</tr>"


def _cell(column: TableColumn, cell: Cell) -> str:
    start = '<td class="number">' if column.is_number else "<td>"
    if isinstance(cell, LinkedText):
        return f'{start}<a href="{escape(cell.address)}">{escape(cell.text)}</a></td>'
    return f"{start}{escape(cell)}</td>"


def series_color(number: int) -> str:
    """Name of the colour of a series by its number, from 0; colours repeat after eight."""
    return f"series-{number % 8 + 1}"


def series_symbol(number: int) -> str:
    """Shape of the marks of a series by its number, from 0."""
    return SYMBOLS[number % len(SYMBOLS)]


def keys_of(series: list[Option]) -> tuple[Key, ...]:
    """The legend of all series that have a name."""
    return tuple(
        Key(one["name"], _key_symbol(one), one["itemStyle"]["color"].removeprefix("--"))
        for one in series
        if "name" in one
    )


def _key_symbol(series: Option) -> str:
    if series["type"] == "line" and not series.get("showSymbol", True):
        return "dashes" if series["lineStyle"].get("type") == "dashed" else "line"
    # Marks of a rug are higher than wide.
    is_tick = isinstance(series.get("symbolSize"), list)
    return "tick" if is_tick else str(series.get("symbol", "rect"))


def line(name: str, data: list[list[float]], color: str, **more: Any) -> Option:
    """A line without marks that does not react to the pointer."""
    return {
        "id": name,
        "name": name,
        "type": "line",
        "showSymbol": False,
        "silent": True,
        "tooltip": {"show": False},
        "lineStyle": {"color": f"--{color}", "width": 1.6} | more.pop("lineStyle", {}),
        "itemStyle": {"color": f"--{color}"},
        "data": data,
        **more,
    }


def whiskers(name: str, data: list[list[float]], color: str, *, is_vertical: bool) -> Option:
    """Intervals: each ``[x, y, low, high]``, with the ends in the direction of the whisker."""
    return {
        "id": f"whiskers {name}",
        "type": "custom",
        "renderItem": "whisker-y" if is_vertical else "whisker-x",
        "silent": True,
        "clip": True,
        "tooltip": {"show": False},
        "itemStyle": {"color": f"--{color}"},
        "data": data,
    }


def plain_option(x_axis: Option, y_axis: Option | list[Option], series: list[Option]) -> Option:
    """An option with one pair of axes, and the legend for exported pictures."""
    return {
        "grid": {"left": 64, "right": 20, "top": 34, "bottom": 44},
        "xAxis": x_axis,
        "yAxis": y_axis,
        "series": series,
        "legend": {"show": False, "data": [one["name"] for one in series if "name" in one]},
    }
