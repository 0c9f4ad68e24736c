"""The chart of reverted decisions."""

from hypothesis import given
from hypothesis import strategies as st

from hub.pages.chart import Reverted, tornado


def row(label: str, ratio: float | None, verdict: str = "slower") -> Reverted:
    if ratio is None:
        return Reverted(label, "2 → 1 (not tiled)", "unstable", outcome="crashed")
    return Reverted(label, "2 → 1 (not tiled)", verdict, ratio, ratio * 0.9, ratio * 1.1)


def test_the_longest_bar_comes_first_and_the_control_last() -> None:
    chart = tornado(
        [row("tile of ff", 1.2), row("unroll", 3.0), row("tile of rc", None)], noise=(0.97, 1.03)
    )
    assert chart is not None
    assert [cells[0] for cells in chart.rows] == [
        "unroll", "tile of ff", "nothing (control)", "tile of rc",
    ]  # fmt: skip
    # Categories are counted from below, and a failure has no bar.
    assert chart.option["yAxis"]["data"] == ["nothing (control)", "tile of ff", "unroll"]
    assert chart.rows[-1][-1] == "crashed"
    assert "only in the table: 1." in chart.caption
    assert "unroll, 3× [2.7, 3.3], slower without it" in chart.description


def test_without_any_ratio_there_is_no_chart() -> None:
    assert tornado([], noise=(0.9, 1.1)) is None
    assert tornado([row("unroll", None)], noise=None) is None


def test_pale_bars_have_one_entry_in_the_legend() -> None:
    rows = [row("a", 1.0, "same"), row("b", 1.1, "unstable"), row("c", 0.5, "faster")]
    chart = tornado(rows, noise=None)
    assert chart is not None
    assert sorted(key.name for key in chart.keys) == ["faster without it", "no proven difference"]


@given(st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=30))
def test_every_mark_is_inside_of_the_axis(ratios: list[float]) -> None:
    chart = tornado([row(f"d{n}", ratio) for n, ratio in enumerate(ratios)], noise=(0.9, 1.1))
    assert chart is not None
    low, high = chart.option["xAxis"]["min"], chart.option["xAxis"]["max"]
    for one in chart.option["series"][0]["data"]:
        assert low <= one["value"][0] <= high
    assert len(chart.rows) == len(ratios) + 1
