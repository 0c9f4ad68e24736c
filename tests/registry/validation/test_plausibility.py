"""Faults of results that no machine can have measured."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from registry.validation.plausibility import (
    Circumstances,
    record_faults,
    times_faults,
    trial_faults,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KNOWN = Circumstances(
    elapsed_s=600.0,
    earliest=NOW - timedelta(seconds=600),
    latest=NOW,
    macs=10**9,
    device="agent-1",
    graph_hash="a" * 64,
    processor="Xeon",
)
BLOCKS = [
    {"process": 0, "baseline_ns": [200, 200], "candidate_ns": [100, 102]},
    {"process": 1, "baseline_ns": [200, 201], "candidate_ns": [110, 110]},
]


def trial(**columns: Any) -> dict[str, Any]:
    base = {
        "outcome": "measured",
        "duration_s": 5.0,
        "ratio": 0.52,
        "ratio_low": 0.5,
        "ratio_high": 0.56,
        "p50_ns": 3_000_000,
        "measurement": {"blocks": BLOCKS},
    }
    return base | columns


def record(**parts: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "identity": {"kind": "headline", "graph_hash": "a" * 64},
        "target": {"device": "agent-1", "processor": "Xeon"},
        "provenance": {"created_at": NOW.isoformat()},
        "protocol": {"scenario": "single-stream"},
        "statistics": {"candidate": {"p50_ns": 3_000_000}},
        "samples": {"blocks": BLOCKS},
        "comparison": {
            "ratio": 0.52,
            "ratio_low": 0.5,
            "ratio_high": 0.56,
            "verdict": "faster",
        },
    }
    return {name: value | parts.get(name, {}) for name, value in base.items()}


def test_a_plausible_trial_has_no_fault() -> None:
    assert dict(trial_faults(trial(), KNOWN)) == {}
    failed = {"outcome": "crash", "duration_s": 5.0}
    assert dict(trial_faults(failed, KNOWN)) == {}


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"duration_s": 700.0}, "duration_s"),
        ({"ratio": None}, "ratio"),
        ({"ratio_low": 0.9, "ratio_high": 0.95}, "ratio"),
        ({"ratio_low": 0.56, "ratio_high": 0.5}, "ratio"),
        ({"p50_ns": 10}, "p50_ns"),
        ({"ratio": 0.01, "ratio_low": 0.01, "ratio_high": 0.02}, "measurement.blocks"),
        (
            {"measurement": {"blocks": [{"candidate_ns": [10**12], "baseline_ns": [10**12]}]}},
            "measurement.blocks",
        ),
    ],
)
def test_an_impossible_trial_has_a_fault(columns: dict[str, Any], fault: str) -> None:
    assert fault in dict(trial_faults(trial(**columns), KNOWN))


def test_a_plausible_record_has_no_fault() -> None:
    assert dict(record_faults(record(), KNOWN)) == {}


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"provenance": {"created_at": "1970-01-01T00:00:00Z"}}, "$.provenance.created_at"),
        ({"provenance": {"created_at": "2038-01-19T03:14:07Z"}}, "$.provenance.created_at"),
        ({"provenance": {"created_at": "2026-01-02T03:04:05"}}, "$.provenance.created_at"),
        ({"provenance": {"created_at": "yesterday"}}, "$.provenance.created_at"),
        ({"identity": {"graph_hash": "b" * 64}}, "$.identity.graph_hash"),
        ({"identity": {"kind": "reproduction"}}, "$.identity.kind"),
        ({"target": {"device": "bench-1"}}, "$.target.device"),
        ({"target": {"processor": "i386"}}, "$.target.processor"),
        ({"statistics": {"candidate": {"p50_ns": 5}}}, "$.statistics.candidate"),
        ({"comparison": {"ratio_high": 1.2}}, "$.comparison.verdict"),
        ({"comparison": {"verdict": "slower"}}, "$.comparison.verdict"),
        ({"comparison": {"ratio": 0.1, "ratio_low": 0.1}}, "$.samples.blocks"),
    ],
)
def test_an_impossible_record_has_a_fault(parts: dict[str, Any], fault: str) -> None:
    assert fault in dict(record_faults(record(**parts), KNOWN))


@pytest.mark.parametrize("offset_s", [-1100, 0, 500])
def test_clocks_may_differ_a_little(offset_s: float) -> None:
    at = (NOW + timedelta(seconds=offset_s)).isoformat()
    assert dict(record_faults(record(provenance={"created_at": at}), KNOWN)) == {}


def test_an_unknown_size_and_processor_are_no_fault() -> None:
    unknown = Circumstances(600.0, KNOWN.earliest, NOW, None, "agent-1", "a" * 64)
    assert dict(record_faults(record(target={"processor": "any"}), unknown)) == {}
    assert dict(trial_faults(trial(p50_ns=1), unknown)) == {}


def test_calls_longer_than_the_attempt_are_a_fault() -> None:
    assert dict(times_faults([1.0] * 600, KNOWN, "seconds")) == {}
    assert "seconds" in dict(times_faults([1.0] * 700, KNOWN, "seconds"))


@pytest.mark.parametrize(
    "blocks",
    [
        [{}],
        [{"process": 0}],
        [{"candidate_ns": [5]}],
        [{"candidate_ns": [], "baseline_ns": None}],
        [],
    ],
)
def test_samples_without_a_baseline_contradict_nothing(blocks: list[dict[str, Any]]) -> None:
    assert dict(trial_faults(trial(measurement={"blocks": blocks}), KNOWN)) == {}


def test_the_largest_samples_are_compared_without_overflow() -> None:
    blocks = [{"candidate_ns": [2**64, 2**64], "baseline_ns": [1]}]
    assert "measurement.blocks" in dict(trial_faults(trial(measurement={"blocks": blocks}), KNOWN))
