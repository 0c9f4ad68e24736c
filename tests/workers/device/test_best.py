"""A search's confirmed results, ranked by the registry's rule."""

from dataclasses import replace

from hpcfair.measurement.types import Deviation, Interval, Verdict
from hpcfair.precisions import Tolerance
from workers.device.best import (
    best_result,
    best_results,
    facts_of,
    profiled_results,
    published_results,
)
from workers.engine.confirmation import ConfirmedResult
from workers.engine.numerics import OutputCheck
from workers.engine.search_result import SearchResult
from workers.engine.testset import TestSet
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate


def confirmed(
    tolerance: Tolerance, ratio: float, verdict: Verdict = "faster", backend: str = "fake"
) -> ConfirmedResult:
    build = BuildResult("measured", tolerance=tolerance)
    measurement = Measurement((), Interval(ratio, ratio, ratio), 1, 1, verdict)
    trial = Trial(0, Candidate(backend, {"ratio": ratio}), "test", "measured", 1.0, build)
    return ConfirmedResult(trial, build, measurement, OutputCheck(Deviation(0, 0, 0, 1.0), None, 1))


def searched(baseline: ConfirmedResult, *results: ConfirmedResult) -> SearchResult:
    return SearchResult((), results, baseline, TestSet((), None, {}, "random", 0), None, "")


def test_the_best_result_is_proved_faster_or_the_baseline() -> None:
    baseline = confirmed("exact", 0.9)
    doubtful, fast = confirmed("exact", 0.5, "unstable"), confirmed("exact", 0.95)
    assert best_result(searched(baseline, doubtful, fast), "exact") is fast
    assert best_result(searched(baseline, doubtful), "int8") is baseline
    quantised = confirmed("int8", 1.0, "same")
    assert best_result(searched(quantised), "exact") is quantised


def test_each_class_has_its_best_result_once() -> None:
    baseline = confirmed("exact", 1.0, "same")
    int8, exact, fp16 = confirmed("int8", 0.3), confirmed("exact", 0.6), confirmed("fp16", 0.7)
    result = searched(baseline, int8, exact, fp16)
    assert best_results(result) == [baseline, exact, int8]
    assert best_results(searched(baseline, fp16)) == [baseline, fp16]
    assert [facts.is_proved_faster for facts in facts_of(result)] == [False, True, True, True]


def test_errors_and_accuracies_are_facts_of_the_rule() -> None:
    half = confirmed("fp16", 0.6)
    check = OutputCheck(Deviation(0, 0, 1e-3, 1.0), 0.97, 8, foreign=Deviation(0, 0, 4e-3, 1.0))
    half = replace(half, output_check=check)
    quantised = replace(confirmed("int8", 0.5), output_check=check)
    facts = facts_of(searched(confirmed("exact", 1.0, "same"), half, quantised))
    assert [one.relative_error for one in facts] == [0, 1e-3, 1e-3]
    assert [one.accuracy for one in facts] == [None, 0.97, 0.97]
    assert check.figures == {
        "max_absolute": 0,
        "max_relative": 0,
        "relative_l2": 1e-3,
        "cosine": 1.0,
        "random_relative_l2": 4e-3,
    }


def test_the_fastest_build_of_each_other_backend_is_profiled_too() -> None:
    baseline, exact = confirmed("exact", 1.0, "same"), confirmed("exact", 0.6)
    slow, fast = confirmed("exact", 0.9, backend="b"), confirmed("exact", 0.8, backend="b")
    unproved = confirmed("exact", 0.7, "unstable", backend="c")
    result = searched(baseline, slow, exact, fast, unproved)
    assert profiled_results(result) == [baseline, exact, fast]


def test_a_build_whose_code_can_be_read_is_published_and_profiled_however_slow() -> None:
    baseline, exact = confirmed("exact", 1.0, "same"), confirmed("exact", 0.6)
    slower = confirmed("exact", 1.9, "slower", backend="b")
    slow = confirmed("exact", 1.2, "slower", backend="b")
    proved = confirmed("exact", 0.9, backend="c")
    similar = confirmed("exact", 0.8, "unstable", backend="c")
    result = searched(baseline, slower, exact, proved, similar, slow)
    assert published_results(result) == [exact, proved]
    result = replace(result, readable=frozenset({"b", "c"}))
    assert published_results(result) == [exact, proved, slow]
    assert profiled_results(result) == [baseline, exact, proved, slow]
    assert best_result(result, "int8") is exact


def test_the_baseline_is_published_once_although_its_code_can_be_read() -> None:
    baseline = confirmed("exact", 1.0, "same", backend="b")
    result = searched(baseline, confirmed("exact", 1.0, "same", backend="b"))
    assert published_results(replace(result, readable=frozenset({"b"}))) == []
