"""Utilisation over time: a line for each target, all of them in the table."""

from datetime import UTC, datetime, timedelta

import pytest

from hub.pages import chart
from registry.selectors.work.jobattempt import Utilisation, UtilisationBin
from tests.hub.pages.chart.checks import checked, marks, series

UNTIL = datetime(2026, 1, 2, 12, tzinfo=UTC)


def data(hours: float = 4.0, **busy: list[float | None]) -> Utilisation:
    """Busy shares of bins by target; ``None`` before its first device joined."""
    return Utilisation(
        UNTIL - timedelta(hours=hours),
        UNTIL,
        {
            slug: [UtilisationBin(3600 * (one or 0.0), 0.0 if one is None else 3600) for one in own]
            for slug, own in busy.items()
        },
    )


def test_each_target_has_a_line_and_a_column() -> None:
    made = checked(chart.utilisation(data(cpu=[None, 0.5, 1.0, 0.25], gpu=[0.0, 0.0, 0.0, 0.0])))
    assert [mark["value"] for mark in series(made, "cpu")["data"]] == [
        [-2.5, 50.0],
        [-1.5, 100.0],
        [-0.5, 25.0],
    ]
    assert len(marks(made)) == 7
    assert [column.title for column in made.columns] == ["From (UTC)", "cpu", "gpu"]
    assert made.rows[0] == ("2026-01-02 08:00", "", "0 %")
    assert made.rows[2] == ("2026-01-02 10:00", "100 %", "0 %")
    assert [key.name for key in made.keys] == ["cpu", "gpu"]
    assert "cpu: 58 %" in made.description
    assert marks(made)[0]["tip"] == ["cpu", "09:00 to 10:00 UTC", "50 % busy"]


def test_a_week_is_measured_in_days() -> None:
    made = checked(chart.utilisation(data(168.0, cpu=[0.5] * 14)))
    assert made.title == "Utilisation in the last 7 days"
    assert marks(made)[0]["value"] == [-6.75, 50.0]
    assert marks(made)[0]["tip"][1] == "Dec 26 12:00 to Dec 27 00:00 UTC"
    assert "-6 d" in made.option["xAxis"]["axisLabel"]["texts"]


def test_the_busiest_targets_are_drawn_and_all_are_listed() -> None:
    many = {f"t{number}": [number / 20, number / 20] for number in range(12)}
    made = checked(chart.utilisation(data(**many)))
    assert [key.name for key in made.keys] == [f"t{number}" for number in range(11, 3, -1)]
    assert len(made.columns) == 13
    assert "the table has all 12" in made.caption


@pytest.mark.parametrize(("hours", "is_short"), [(24.0, False), (0.2, True)])
def test_a_shortened_window_is_mentioned(hours: float, *, is_short: bool) -> None:
    made = checked(chart.utilisation(data(hours, cpu=[0.5, 0.5])))
    assert ("The window is short" in made.caption) is is_short


def test_a_hub_without_devices_has_no_chart() -> None:
    assert chart.utilisation(data()) is None
