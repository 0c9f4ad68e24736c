"""Time of the parts of a network, in one build or two."""

from hub.pages import chart
from tests.hub.pages.chart.checks import checked, series


def test_parts_stand_by_their_time_with_both_builds() -> None:
    parts = [chart.Part("node 0: Conv", (900, 300)), chart.Part("node 1: Gemm", (100, 1200))]
    made = checked(chart.bars(parts, ("default", "this build")))
    assert made.option["yAxis"]["data"] == ["node 1: Gemm", "node 0: Conv"]
    assert [mark["value"] for mark in series(made, "default")["data"]] == [100, 900]
    assert made.rows == (
        ("node 1: Gemm", "100 ns", "1.20 µs", "+1100 %"),
        ("node 0: Conv", "900 ns", "300 ns", "-67 %"),
    )
    assert [key.name for key in made.keys] == ["default, 1.00 µs", "this build, 1.50 µs"]


def test_many_parts_share_the_last_bar_but_not_the_table() -> None:
    parts = [chart.Part(f"node {n}: Conv", (1000 - n,)) for n in range(40)]
    made = checked(chart.bars(parts, ("this build",)))
    (only,) = made.option["series"]
    assert len(only["data"]) == 16
    assert made.option["yAxis"]["data"][-1] == "25 others"
    assert only["data"][-1]["value"] == sum(1000 - n for n in range(15, 40))
    assert len(made.rows) == 40


def test_a_part_that_a_build_does_not_have_has_no_change() -> None:
    made = checked(chart.bars([chart.Part("node 0: Conv", (0, 300))], ("default", "this build")))
    assert made.rows[0][-1] == ""


def test_no_time_is_no_chart() -> None:
    assert chart.bars([], ("this build",)) is None
    assert chart.bars([chart.Part("node 0", (0,))], ("this build",)) is None
