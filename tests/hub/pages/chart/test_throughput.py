"""Throughput over batches."""

from hub.pages.chart.throughput import throughput_by_batch
from registry.selectors.results.queries import SweepPoint


def test_the_batches_that_were_timed_have_the_ticks() -> None:
    points = [SweepPoint("candidate", batch, 1, 100.0 + batch) for batch in (8, 1, 2, 64)]
    points.append(SweepPoint("baseline", 2, 1, 50.0))
    chart = throughput_by_batch(points)
    assert chart is not None
    assert chart.option["xAxis"]["axisLabel"]["texts"] == ["1", "2", "8", "64"]
    assert [line["name"] for line in chart.option["series"]] == [
        "build, 1 stream", "default, 1 stream",
    ]  # fmt: skip


def test_without_points_there_is_no_chart() -> None:
    assert throughput_by_batch([]) is None
