"""Progress is reported at a bounded rate; the first report of each step is always sent."""

import pytest

from workers.device import pace


def test_a_step_is_reported_twice_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.1, 10.2, 10.4, 10.8])
    monkeypatch.setattr(pace.time, "monotonic", lambda: next(clock))
    reports = pace.ReportPace()
    assert [reports.is_due("search", done) for done in (1, 1, 2, 2, 2)] == [
        True, False, True, False, True
    ]  # fmt: skip


def test_a_phase_begins_with_a_report() -> None:
    reports = pace.ReportPace()
    assert reports.is_due("search", 0)
    assert reports.is_due("confirm", 0)
    assert not reports.is_due("confirm", 0)
