"""The rule that chooses a build, as a table; no database."""

from dataclasses import replace
from typing import Any

import pytest

from hpcfair.choice import (
    LoadRequest,
    Selection,
    TargetFacts,
    best_of,
    best_of_each_class,
    choose,
)
from hpcfair.outputlimits import BuildFacts, accepts

NEAR = TargetFacts("near", "x86-64", frozenset({"avx2", "avx512f"}), 30)
FAR = TargetFacts("far", "x86-64", frozenset({"avx2"}), 20)
TWIN = TargetFacts("twin", "x86-64", frozenset(), 20)
WIDE = TargetFacts("wide", "x86-64", frozenset({"avx2", "amx"}), 99)
ARM = TargetFacts("arm", "arm64", frozenset(), 99)


def build(key: int, ratio: float, tolerance: str = "exact", **facts: Any) -> BuildFacts:
    given = {"verdict": "faster", "runtime": "onnxruntime", "backend": "ort"} | facts
    return BuildFacts(key, tolerance, ratio, **given)


def baseline(key: int, **facts: Any) -> BuildFacts:
    return build(key, 1.0, **{"verdict": "same", "is_baseline": True} | facts)


def ask(published: dict[TargetFacts, list[BuildFacts]], tolerance: str = "exact") -> Selection:
    features = {"avx2", "avx512f", "sse4"}
    return choose(published, LoadRequest("x86-64", features, {"onnxruntime": "1"}, tolerance))


@pytest.mark.parametrize(
    ("builds", "tolerance", "best"),
    [
        pytest.param([], "int8", None, id="no builds"),
        pytest.param([baseline(1), build(2, 0.9), build(3, 0.7)], "exact", 3, id="fastest"),
        pytest.param([build(1, 0.9)], "exact", 1, id="without a baseline"),
        pytest.param([baseline(1), build(2, 0.5, verdict="slower")], "exact", 1, id="slower"),
        pytest.param([baseline(1), build(2, 0.5, verdict="same")], "exact", 1, id="same"),
        pytest.param([baseline(1), build(2, 0.5, verdict="unstable")], "exact", 1, id="unstable"),
        pytest.param([build(1, 0.5, verdict="unstable")], "exact", None, id="nothing proved"),
        pytest.param(
            [build(1, 0.4, is_baseline=True), build(2, 0.9)], "exact", 2, id="lucky baseline"
        ),
        pytest.param([build(2, 0.8), build(1, 0.8)], "exact", 1, id="tie: the older"),
        pytest.param([build(1, 0.5), build(2, 0.6, "int8")], "int8", 1, id="stricter is faster"),
        pytest.param([build(1, 0.6, "fp16"), build(2, 0.5, "bf16")], "fp16", 1, id="too lax"),
        pytest.param([build(1, 0.5, "int8")], "bf16", None, id="all too lax"),
        pytest.param(
            [baseline(1), build(2, 0.9), build(3, 0.7, reproduction="differs")],
            "exact",
            2,
            id="differs",
        ),
        pytest.param([baseline(1), build(2, 0.7, reproduction="failed")], "exact", 1, id="failed"),
        pytest.param(
            [baseline(1), build(2, 0.7, reproduction="reproduced")], "exact", 2, id="reproduced"
        ),
        pytest.param([baseline(1, reproduction="differs")], "exact", 1, id="faulty baseline"),
        pytest.param(
            [baseline(1), build(2, 0.9), build(3, 0.1, is_trusted=False)],
            "exact",
            2,
            id="untrusted device",
        ),
        pytest.param(
            [baseline(1), build(2, 0.1, is_trusted=False, reproduction="reproduced")],
            "exact",
            1,
            id="untrusted device, reproduced",
        ),
        pytest.param([baseline(1, is_trusted=False)], "exact", 1, id="untrusted baseline"),
        pytest.param(
            [build(1, 0.1, is_trusted=False)], "exact", None, id="only of an untrusted device"
        ),
    ],
)
def test_the_best_build_of_one_target(
    builds: list[BuildFacts], tolerance: str, best: int | None
) -> None:
    winner = best_of(builds, tolerance)
    assert (winner.key if winner else None) == best
    assert ask({NEAR: builds}, tolerance).best == best


@pytest.mark.parametrize(
    ("published", "best", "others"),
    [
        pytest.param({FAR: [build(1, 0.3)], NEAR: [build(2, 0.8)]}, 2, (1,), id="highest rank"),
        pytest.param({TWIN: [build(1, 0.3)], FAR: [build(2, 0.8)]}, 2, (1,), id="then by name"),
        pytest.param({FAR: [build(1, 0.3)], NEAR: [baseline(2)]}, 2, (1,), id="near baseline"),
        pytest.param(
            {FAR: [build(1, 0.8)], NEAR: [build(2, 0.2, verdict="unstable")]},
            1,
            (2,),
            id="near target offers nothing",
        ),
        pytest.param(
            {FAR: [build(1, 0.8)], NEAR: [baseline(2, runtime="openvino")]},
            1,
            (),
            id="runtime not installed",
        ),
        pytest.param(
            {
                FAR: [build(1, 0.8)],
                NEAR: [build(2, 0.5, reproduction="failed"), baseline(3, reproduction="differs")],
            },
            1,
            (2, 3),
            id="faulty baseline gives way to another target",
        ),
        pytest.param(
            {FAR: [build(1, 0.5, verdict="same")], NEAR: [baseline(2, reproduction="failed")]},
            2,
            (1,),
            id="faulty baseline if nothing else",
        ),
        pytest.param({WIDE: [build(1, 0.1)], FAR: [baseline(2)]}, 2, (), id="feature missing"),
        pytest.param({ARM: [build(1, 0.1)], FAR: [baseline(2)]}, 2, (), id="architecture"),
    ],
)
def test_the_choice_among_targets(
    published: dict[TargetFacts, list[BuildFacts]], best: int, others: tuple[int, ...]
) -> None:
    selection = ask(published)
    assert (selection.best, selection.others) == (best, others)


@pytest.mark.parametrize(
    ("published", "tolerance", "words"),
    [
        ({NEAR: [baseline(1), build(2, 0.7)]}, "exact", ["near", "fastest", "'exact'", "0.700"]),
        ({NEAR: [baseline(1)]}, "fp16", ["near", "no build", "'fp16'", "onnxruntime"]),
        ({}, "exact", ["not tuned"]),
        ({ARM: [build(1, 0.5)], WIDE: [build(2, 0.5)]}, "exact", ["x86-64 machine", "arm, wide"]),
        ({NEAR: [build(1, 0.5, runtime="openvino")]}, "exact", ["not installed: openvino"]),
        ({NEAR: [build(1, 0.5, "int8")]}, "bf16", ["no build", "'bf16'"]),
        ({NEAR: [build(1, 0.5, verdict="same")]}, "exact", ["No build", "proved faster"]),
        (
            {NEAR: [baseline(1), build(2, 0.7, reproduction="differs")]},
            "exact",
            ["Excluded: ort at 0.700, which gave other outputs when it was run again."],
        ),
        (
            {NEAR: [build(1, 0.7, reproduction="failed")]},
            "exact",
            ["proved faster", "ort at 0.700, which did not run again."],
        ),
        ({NEAR: [baseline(1, reproduction="failed")]}, "exact", ["It did not run again, but"]),
    ],
)
def test_the_reason_says_why(
    published: dict[TargetFacts, list[BuildFacts]], tolerance: str, words: list[str]
) -> None:
    reason = ask(published, tolerance).reason
    assert all(word in reason for word in words), reason


@pytest.mark.parametrize(
    ("inconclusive", "tolerance", "is_said"),
    [
        ({"near": ["exact"]}, "exact", True),
        ({"near": ["int8"]}, "exact", False),
        ({"near": ["int8"]}, "int8", True),
        ({"far": ["exact"]}, "exact", False),
        ({}, "int8", False),
    ],
)
def test_the_reason_says_that_a_measurement_decided_nothing(
    inconclusive: dict[str, list[str]],
    tolerance: str,
    is_said: bool,  # noqa: FBT001
) -> None:
    published = {NEAR: [baseline(1)], FAR: [baseline(2)]}
    request = LoadRequest("x86-64", {"avx2", "avx512f"}, {"onnxruntime": "1"}, tolerance)
    reason = choose(published, request, inconclusive).reason
    assert ("inconclusive" in reason) == is_said, reason


def test_tolerance_classes_are_ordered() -> None:
    order = ["exact", "fp16", "bf16", "int8"]
    for at, tolerance in enumerate(order):
        assert [other for other in order if accepts(tolerance, other)] == order[: at + 1]


def test_a_class_whose_builds_are_beaten_by_a_stricter_one_gets_that_one() -> None:
    builds = [build(1, 0.8), build(2, 0.85, "fp16"), build(3, 0.5, "int8"), build(4, 0.6, "int8")]
    best = {tolerance: winner.key for tolerance, winner in best_of_each_class(builds).items()}
    assert best == {
        "exact": 1,
        "fp16": 1,
        "bf16": 1,
        "int8": 3,
    }
    assert best_of_each_class(builds[2:]).keys() == {"int8"}


def test_other_builds_are_listed_closest_target_first_then_by_ratio() -> None:
    published = {
        FAR: [build(1, 0.3), baseline(2)],
        NEAR: [build(3, 0.9), build(4, 0.95, verdict="same"), build(5, 0.6), build(6, 0.1, "int8")],
    }
    assert ask(published).others == (3, 4, 1, 2)


def test_builds_of_another_scenario_do_not_count_unless_there_is_none() -> None:
    builds = [build(1, 0.5), baseline(2), build(3, 0.8, scenario="offline")]
    wish = LoadRequest("x86-64", NEAR.features, {"onnxruntime"}, "exact")
    assert choose({NEAR: builds}, wish).best == 1
    chosen = choose({NEAR: builds}, replace(wish, scenario="offline"))
    assert (chosen.best, chosen.others) == (3, ())
    assert "in the scenario offline" in chosen.reason
    default = [*builds[:2], baseline(4, scenario="offline")]
    reason = choose({NEAR: default}, replace(wish, scenario="offline")).reason
    assert "proved faster than the defaults of" in reason
    assert reason.endswith("in the scenario offline.")
    other = choose({NEAR: builds}, replace(wish, scenario="server"))
    assert other.best == 1
    assert "No build for this machine is measured in the scenario server." in other.reason
