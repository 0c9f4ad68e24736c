"""What a search leaves inconclusive."""

from dataclasses import replace
from typing import Any

from hpcfair.measurement.types import Deviation, Interval, Verdict
from hpcfair.precisions import Tolerance
from workers.device.inconclusive import (
    decided_by,
    inconclusive_of,
    summary_of,
    unproved_classes,
)
from workers.engine.confirmation import ConfirmedResult
from workers.engine.numerics import OutputCheck
from workers.engine.search_result import SearchResult
from workers.engine.testset import TestSet
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome


def trial(
    name: str,
    ratio: float,
    verdict: Verdict = "unstable",
    tolerance: Tolerance = "exact",
    *,
    outcome: Outcome = "measured",
    **quality: Any,
) -> Trial:
    measured = Measurement((), Interval(ratio, ratio - 0.2, ratio + 0.2), 1, 1, verdict, quality)
    build = BuildResult("measured", tolerance=tolerance)
    candidate = Candidate("fake", {"name": name})
    return Trial(0, candidate, "test", outcome, 1.0, build, measurement=measured)


def confirmed(of: Trial) -> ConfirmedResult:
    assert of.build is not None
    assert of.measurement is not None
    check = OutputCheck(Deviation(0, 0, 0, 1.0), None, 1)
    return ConfirmedResult(of, of.build, of.measurement, check)


BASELINE = trial("baseline", 1.0, "same")


def searched(results: list[Trial], trials: list[Trial]) -> SearchResult:
    every = (BASELINE, *results, *trials)
    tests = TestSet((), None, {}, "random", 0)
    return SearchResult(every, tuple(map(confirmed, results)), confirmed(BASELINE), tests, None, "")


def names(found: list[dict[str, Any]]) -> list[str]:
    return [str(one["candidate"]["options"]["name"]) for one in found]


def test_results_without_a_verdict_and_disturbed_trials_are_open() -> None:
    result = searched(
        [trial("doubtful", 0.9), trial("same", 0.99, "same"), trial("hopeless", 1.5)],
        [
            trial("disturbed", 0.8, disturbed=True),
            trial("noisy", 0.8),
            trial("slow", 1.1, disturbed=True),
            trial("broken", 0.1, outcome="crash", disturbed=True),
        ],
    )
    (worst, other) = inconclusive_of(result)
    assert names([worst, other]) == ["disturbed", "doubtful"]
    assert (worst["tolerance"], worst["ratio"]) == ("exact", 0.8)
    assert worst["config_sha256"] == Candidate("fake", {"name": "disturbed"}).sha256


def test_what_cannot_beat_a_proved_build_is_decided() -> None:
    fast = trial("fast", 0.5, "faster")
    assert inconclusive_of(searched([fast, trial("slower", 0.7)], [])) == []
    found = inconclusive_of(searched([fast, trial("quantised", 0.3, tolerance="int8")], []))
    assert names(found) == ["quantised"]
    # A faster build of a laxer class says nothing to those who do not accept that class.
    lax = trial("lax", 0.3, "faster", "int8")
    assert names(inconclusive_of(searched([lax, trial("strict", 0.7)], []))) == ["strict"]


def test_of_each_class_the_most_promising_are_measured_again() -> None:
    many = [trial(f"net{number}", 0.5 + number / 100) for number in range(5)]
    assert names(inconclusive_of(searched(many, []))) == ["net0", "net1"]


def test_a_repetition_leaves_open_what_it_could_not_measure() -> None:
    earlier = inconclusive_of(searched([trial("away", 0.9), trial("again", 0.8)], []))
    assert names(earlier) == ["again", "away"]
    decided = searched([trial("again", 0.9, "faster")], [trial("away", 1.2, "slower")])
    assert inconclusive_of(decided, earlier) == []
    away = searched([], [trial("again", 1.01, disturbed=True)])
    assert names(inconclusive_of(away, earlier)) == ["away", "again"]


def test_the_summary_calls_the_defaults_best_only_if_everything_is_decided() -> None:
    assert summary_of([], []) == "the defaults are best"
    assert summary_of(["int8 2.10 times as fast"], []) == "int8 2.10 times as fast"
    undecided = [{"tolerance": "exact"}, {"tolerance": "exact"}, {"tolerance": "int8"}]
    assert summary_of([], undecided) == "inconclusive for exact and int8"


def test_classes_without_a_proof_are_not_decided() -> None:
    exact, unstable = trial("exact", 0.8, "faster"), trial("int8", 0.5, tolerance="int8")
    result = searched([exact, unstable], [])
    assert unproved_classes(result, []) == {"fp16", "bf16", "int8"}
    assert unproved_classes(result, [{"tolerance": "exact"}]) == {"exact", "fp16", "bf16", "int8"}


def test_a_trial_that_is_certainly_not_faster_decides() -> None:
    slow = trial("slow", 1.3, "slower", outcome="pruned")
    wrong = trial("wrong", 1.0, outcome="wrong-output")
    open_ones = [
        trial("maybe", 1.1, "slower"),
        trial("disturbed", 1.3, disturbed=True),
        trial("shifted", 1.3, "slower", baseline_shift=1.8),
        trial("crashed", 1.3, outcome="crash", disturbed=True),
    ]
    result = searched([trial("confirmed", 0.5, "faster")], [slow, wrong, *open_ones])
    names_of = {
        each.candidate.sha256: str(each.candidate.options["name"]) for each in result.trials
    }
    decided = {names_of[digest] for digest in decided_by(result)}
    assert decided == {"baseline", "confirmed", "slow", "wrong"}


def test_what_there_was_no_time_to_confirm_is_open() -> None:
    fast, faster = trial("fast", 0.9, "faster"), trial("faster", 0.7, "faster")
    result = searched([fast], [faster])
    assert inconclusive_of(result) == []
    assert names(inconclusive_of(replace(result, unconfirmed=(faster,)))) == ["faster"]
    # A gain that hardly anyone would notice is not worth another job.
    assert inconclusive_of(searched([fast, trial("alike", 0.89)], [])) == []
