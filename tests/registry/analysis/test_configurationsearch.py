"""What the trials of a search of configurations say."""

from typing import Any

import pytest

from registry.selectors.analysis.configurationsearch import (
    class_outcomes,
    configuration_evidence,
    configuration_failures,
    configuration_rounds,
)
from registry.statistics.noise import Likeness
from registry.tables import Trial


def trial(number: int, ratio: float | None = None, width: float = 0.01, **columns: Any) -> Trial:
    backend = columns.pop("backend", "onnxruntime")
    options = columns.pop("options", {"threads": "all"})
    return Trial(
        number=number,
        ratio=ratio,
        ratio_low=ratio and ratio * (1 - width),
        ratio_high=ratio and ratio / (1 - width),
        candidate={"backend": backend, "options": options},
        **{
            "outcome": "measured" if ratio else "crash",
            "tolerance": "exact" if ratio else "",
            "duration_s": 1.0,
            **columns,
        },
    )


def test_each_class_has_its_best_and_what_is_as_good() -> None:
    trials = [
        trial(0, 1.0),
        trial(1, 0.800),
        trial(2, 0.801),
        trial(3, 0.81, width=0.2),
        trial(4, 0.5, tolerance="int8"),
        trial(5, 0.9),
    ]
    exact, int8 = class_outcomes(trials)
    assert (exact.tolerance, exact.best.number) == ("exact", 1)
    assert {each.trial.number: each.likeness for each in exact.peers} == {
        2: Likeness.EQUAL,
        3: Likeness.UNDECIDED,
        5: Likeness.SLOWER,
        0: Likeness.SLOWER,
    }
    assert (exact.equal, exact.undecided) == (1, 1)
    assert exact.end.last_gain == 1
    assert (int8.best.number, int8.peers) == (4, [])


def test_a_candidate_without_an_interval_is_untested() -> None:
    bare = trial(1, 0.9)
    bare.ratio_low = None
    (exact,) = class_outcomes([trial(0, 0.8), bare])
    assert exact.peers[0].likeness == Likeness.UNTESTED


def test_options_are_compared_within_their_backend() -> None:
    trials = [
        trial(at, 0.5 if at % 2 else 1.0, options={"threads": "all" if at % 2 else "one"})
        for at in range(40)
    ] + [trial(40 + at, 1.2, backend="openvino", options={"hint": "latency"}) for at in range(20)]
    evidence = configuration_evidence(trials, 0.25)
    named = {
        (evidence.columns[row.column].title, evidence.columns[row.column].labels[row.code]): row
        for row in evidence.rows
    }
    best = named["onnxruntime: threads", "all"]
    assert best.is_evident
    assert best.fast_total + best.rest_total == 40
    assert named["backend", "openvino"].fast == 0
    assert not [title for title, _ in named if title == "openvino: hint"]


def test_few_candidates_are_no_evidence() -> None:
    trials = [trial(at, 1.0 - at / 10, options={"threads": str(at)}) for at in range(5)]
    assert configuration_evidence(trials, 0.25).evident == []
    assert configuration_evidence([], 0.25).rows == []


def test_failures_and_rounds_are_counted() -> None:
    trials = [
        trial(0, 0.9, predicted_ratio=0.8),
        trial(1, outcome="crash", failure_detail="fell over"),
        trial(2, outcome="pruned"),
        trial(3, 0.7, predicted_ratio=0.6),
        trial(4, 0.6, predicted_ratio=0.5),
    ]
    assert configuration_failures(trials) == [("crash", 1, [("fell over", 1)])]
    (one,) = configuration_rounds(trials)
    assert (one.first, one.last, one.trials) == (0, 4, 3)
    assert one.correlation == pytest.approx(1.0)
    assert class_outcomes([]) == []
