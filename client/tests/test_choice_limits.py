"""Limits that users state on outputs, in the rule that chooses a build; no database."""

from typing import Any

import pytest

from hpcfair.choice import (
    BuildFacts,
    LoadRequest,
    Selection,
    TargetFacts,
    best_of,
    choose,
)

HERE = TargetFacts("here", "x86-64", frozenset({"avx2"}), 30)
BELOW = TargetFacts("below", "x86-64", frozenset(), 20)
BASELINE = BuildFacts(
    1, "exact", 1.0, "same", is_baseline=True, runtime="ort", relative_error=3e-5, accuracy=0.98
)


def build(key: int, ratio: float, tolerance: str, **facts: Any) -> BuildFacts:
    given = {"verdict": "faster", "runtime": "ort", "backend": "ort"} | facts
    return BuildFacts(key, tolerance, ratio, **given)


EXACT = build(2, 0.8, "exact", relative_error=2e-5, accuracy=0.98)
FP16 = build(3, 0.7, "fp16", relative_error=9e-4, accuracy=0.979)
INT8 = build(4, 0.5, "int8", relative_error=0.014, accuracy=0.971)
ALL = [BASELINE, EXACT, FP16, INT8]


def ask(
    builds: list[BuildFacts], tolerance: str | float, min_accuracy: float | None = None
) -> Selection:
    request = LoadRequest("x86-64", {"avx2"}, {"ort"}, tolerance, min_accuracy)
    return choose({HERE: builds}, request)


@pytest.mark.parametrize(
    ("builds", "tolerance", "min_accuracy", "best"),
    [
        pytest.param(ALL, 0.02, None, 4, id="int8 within the error"),
        pytest.param(ALL, 0.014, None, 4, id="the limit itself"),
        pytest.param(ALL, 0.01, None, 3, id="int8 beyond the error"),
        pytest.param(ALL, 2e-5, None, 2, id="the baseline beyond the error"),
        pytest.param([BASELINE], 1e-6, None, None, id="nothing within the error"),
        pytest.param([build(5, 0.1, "int8")], 1.0, None, None, id="error not measured"),
        pytest.param(ALL, "int8", 0.975, 3, id="least accuracy"),
        pytest.param(ALL, "exact", 0.975, 2, id="class and accuracy"),
        pytest.param(ALL, 0.02, 0.98, 2, id="error and accuracy"),
        pytest.param(ALL, "int8", 0.99, None, id="no build so accurate"),
        pytest.param([build(5, 0.1, "exact")], "int8", 0.1, None, id="accuracy not measured"),
    ],
)
def test_the_best_build_within_the_limits(
    builds: list[BuildFacts], tolerance: str | float, min_accuracy: float | None, best: int | None
) -> None:
    winner = best_of(builds, tolerance, min_accuracy)
    assert (winner.key if winner else None) == best
    assert ask(builds, tolerance, min_accuracy).best == best


@pytest.mark.parametrize(
    ("builds", "tolerance", "min_accuracy", "reason"),
    [
        (ALL, 0.02, None, "fastest within a relative error of 0.02: 0.500 of"),
        (ALL, "int8", 0.975, "within tolerance 'int8' and with a measured accuracy of 0.975 or"),
        ([BASELINE], 1e-3, None, "no build within a relative error of 0.001 is proved faster"),
        ([BASELINE], 1e-6, None, "No build for this machine is within a relative error of 1e-06."),
        (ALL, "int8", 0.99, "No build for this machine is within tolerance 'int8' and with a"),
    ],
)
def test_the_reason_names_the_limits(
    builds: list[BuildFacts], tolerance: str | float, min_accuracy: float | None, reason: str
) -> None:
    assert reason in ask(builds, tolerance, min_accuracy).reason


@pytest.mark.parametrize(
    ("builds", "tolerance", "min_accuracy", "looser"),
    [
        pytest.param(ALL, "exact", None, {"fp16": 3, "int8": 4}, id="each faster than the last"),
        pytest.param(ALL, "fp16", None, {"int8": 4}, id="laxer classes only"),
        pytest.param(ALL, "int8", None, {}, id="none is laxer"),
        pytest.param(ALL, 0.001, None, {"int8": 4}, id="beyond a number"),
        pytest.param(ALL, "exact", 0.975, {"fp16": 3}, id="the least accuracy stays"),
        pytest.param([BASELINE, INT8], "exact", None, {"int8": 4}, id="beside the baseline"),
        pytest.param([INT8], "exact", None, {"int8": 4}, id="beside the plain model"),
        pytest.param([EXACT, build(5, 0.9, "int8")], "exact", None, {}, id="slower"),
        pytest.param([EXACT, build(5, 0.1, "int8", verdict="same")], "exact", None, {}, id="same"),
        pytest.param(
            [EXACT, build(5, 0.1, "int8", reproduction="differs")], "exact", None, {}, id="faulty"
        ),
        pytest.param(
            [EXACT, build(5, 0.1, "int8", runtime="tvm")], "exact", None, {}, id="not installed"
        ),
        pytest.param(
            [EXACT, build(5, 0.5, "fp16"), build(6, 0.6, "bf16")],
            "exact",
            None,
            {"fp16": 5},
            id="a laxer class without anything faster",
        ),
    ],
)
def test_what_laxer_classes_would_bring(
    builds: list[BuildFacts],
    tolerance: str | float,
    min_accuracy: float | None,
    looser: dict[str, int],
) -> None:
    assert ask(builds, tolerance, min_accuracy).looser == looser


def test_a_laxer_class_brings_nothing_if_its_build_would_not_be_chosen() -> None:
    published = {HERE: [BASELINE, EXACT], BELOW: [INT8]}
    request = LoadRequest("x86-64", {"avx2"}, {"ort"}, "exact")
    assert choose(published, request).looser == {}
