"""Latency statistics of one side."""

import pytest

from hpcfair.measurement.summary import latency_statistics


def test_tail_percentiles_need_enough_samples() -> None:
    few, many = latency_statistics(range(1, 51)), latency_statistics(range(1, 2001))

    assert "p95_ns" not in few
    assert many["p99_ns"] == pytest.approx(1980, abs=1)
    assert (few["p50_ns"], few["min_ns"], few["max_ns"], few["n"]) == (25.5, 1, 50, 50)
