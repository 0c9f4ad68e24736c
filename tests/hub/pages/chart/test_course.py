"""The course of a search: every trial has a mark, outliers are counted, failures are a rug."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import chart
from registry.tables import Trial
from tests.hub.pages.chart.checks import checked, marks, series

ratios = st.floats(0.01, 50)


def trial(number: int, ratio: float | None, backend: str = "onnxruntime", **columns: Any) -> Trial:
    low, high = (ratio * 0.9, ratio * 1.1) if ratio else (None, None)
    return Trial(
        number=number,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        candidate={"backend": backend, "options": {"threads": "all"}},
        **{
            "p50_ns": 1000 if ratio else None,
            "outcome": "measured" if ratio else "crash",
            "tolerance": "exact" if ratio else "",
            **columns,
        },
    )


@given(st.lists(st.none() | ratios, min_size=1, max_size=40))
def test_every_trial_is_marked_inside_of_the_axis(values: list[float | None]) -> None:
    trials = [trial(number, ratio) for number, ratio in enumerate(values)]
    made = checked(chart.course(trials))
    assert len(marks(made)) == len(made.rows) == len(trials)
    axis = made.option["yAxis"][0]
    for mark in marks(made):
        x, y = mark["value"]
        assert made.option["xAxis"]["min"] <= x <= made.option["xAxis"]["max"]
        if "yAxisIndex" not in mark and y:
            assert axis["min"] <= y <= axis["max"]


def test_backends_have_series_of_their_own_and_the_best_is_a_line() -> None:
    made = checked(
        chart.course([trial(0, 1.0), trial(1, 0.7, "openvino"), trial(2, 0.9), trial(3, 0.5)])
    )
    assert len(series(made, "onnxruntime")["data"]) == 3
    assert len(series(made, "openvino")["data"]) == 1
    steps = series(made, "best so far")["data"]
    assert [x for x, _ in steps] == [0, 1, 3, 3.5]
    assert steps[-1][1] == steps[-2][1] == min(y for _, y in steps)
    assert "0.500 of the default's latency" in made.description
    names = [key.name for key in made.keys]
    assert names == ["onnxruntime", "openvino", "best so far"]


def test_outliers_are_arrows_at_the_edge_and_counted() -> None:
    made = checked(chart.course([*(trial(n, 0.9 + n / 100) for n in range(8)), trial(8, 40.0)]))
    arrows = [mark for mark in marks(made) if mark.get("symbol") == "arrow"]
    assert len(arrows) == 1
    assert arrows[0]["value"][1] == made.option["yAxis"][0]["max"]
    assert any("40.000 of the default" in line for line in arrows[0]["tip"])
    assert "1 of 9 measured candidates take more than" in made.caption


def test_failures_and_early_stops_are_a_rug() -> None:
    pruned = trial(2, None, outcome="pruned", failure_detail="slower than the best")
    failed = trial(1, None, failure_detail="it fell over")
    made = checked(chart.course([trial(0, 1.0), failed, pruned]))
    assert series(made, "failed")["data"][0]["tip"][2] == "crash: it fell over"
    assert len(series(made, "stopped early")["data"]) == 1
    assert "1 candidate measured, 1 failed" in made.description
    assert "trials without a result: 1 pruned, 1 crash." in made.caption
    assert {key.symbol for key in made.keys} == {"circle", "line", "tick"}


@pytest.mark.parametrize("label", ["<script>", 'a"b', "--ink"])
def test_texts_of_others_stay_texts(label: str) -> None:
    checked(chart.course([trial(0, 0.5, proposed_by=label, backend=label)]))


def test_no_trial_is_no_chart() -> None:
    assert chart.course([]) is None
