"""Limits that users state on outputs, in the rule that chooses a build; no database."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.acceptance import Acceptance
from hpcfair.choice import (
    LoadRequest,
    Looser,
    Selection,
    TargetFacts,
    best_of,
    best_of_each_limit,
    choose,
)
from hpcfair.outputlimits import BuildFacts
from hpcfair.precisions import TOLERANCES

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
        (ALL, "int8", 0.975, "fastest with an accuracy of at least 0.975: "),
        (ALL, "fp16", 0.975, "within tolerance 'fp16' and with an accuracy of at least 0.975"),
        ([BASELINE], 1e-3, None, "no build within a relative error of 0.001 is proved faster"),
        ([BASELINE], 1e-6, None, "There is no build within a relative error of 1e-06 for"),
        (ALL, "int8", 0.99, "at least 0.99 for this machine. The most accurate build"),
        (ALL, "int8", 0.99, "min_accuracy=0.98."),
        (ALL, 1e-6, 0.9, "and with an accuracy of at least 0.9 for this machine."),
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
        pytest.param(ALL, 0.001, None, {0.014: 4}, id="beyond a number"),
        pytest.param(ALL, 2e-5, None, {9e-4: 3, 0.014: 4}, id="a number for each build"),
        pytest.param(ALL, 0.014, None, {}, id="none is beyond the number"),
        pytest.param(ALL, "exact", 0.975, {"fp16": 3}, id="the least accuracy stays"),
        pytest.param(ALL, 0.001, 0.975, {}, id="also beside a number"),
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
        pytest.param(
            [EXACT, build(5, 0.1, "int8")], 0.01, None, {}, id="no number admits what has no error"
        ),
    ],
)
def test_what_laxer_tolerances_would_bring(
    builds: list[BuildFacts],
    tolerance: str | float,
    min_accuracy: float | None,
    looser: dict[str | float, int],
) -> None:
    expected = tuple(Looser(key, {"tolerance": limit}) for limit, key in looser.items())
    assert ask(builds, tolerance, min_accuracy).looser == expected


def test_what_less_accuracy_would_bring() -> None:
    assert ask(ALL, "int8", 0.98).looser == (
        Looser(3, {"min_accuracy": 0.979}),
        Looser(4, {"min_accuracy": 0.971}),
    )
    assert ask(ALL, "int8", 0.97).looser == ()


def test_a_laxer_class_brings_nothing_if_its_build_would_not_be_chosen() -> None:
    published = {HERE: [BASELINE, EXACT], BELOW: [INT8]}
    request = LoadRequest("x86-64", {"avx2"}, {"ort"}, "exact")
    assert choose(published, request).looser == ()


def test_each_number_brings_another_build() -> None:
    slow = build(5, 0.6, "int8", relative_error=0.0123, accuracy=0.9)
    slower = build(6, 0.75, "bf16", relative_error=0.0104)
    keys = {limit: one.key for limit, one in best_of_each_limit([*ALL, slow, slower]).items()}
    assert keys == {2e-5: 2, 9e-4: 3, 0.013: 5, 0.014: 4}
    assert (
        best_of_each_limit([build(7, 0.1, "int8"), build(8, 0.1, "int8", relative_error=9)]) == {}
    )


errors = st.none() | st.floats(0, 1) | st.just(0.0)
published = st.lists(
    st.builds(
        BuildFacts,
        key=st.integers(0, 99),
        tolerance=st.sampled_from(TOLERANCES),
        ratio=st.floats(0.01, 0.99),
        verdict=st.sampled_from(["faster", "same", "unstable"]),
        reproduction=st.sampled_from(["", "reproduced", "differs"]),
        runtime=st.just("ort"),
        relative_error=errors,
        is_trusted=st.booleans(),
    ),
    max_size=8,
    unique_by=lambda one: one.key,
)


@given(published, errors, st.floats(0, 1), st.floats(0, 1))
def test_a_looser_number_never_brings_a_slower_build(
    builds: list[BuildFacts], error: float | None, one: float, other: float
) -> None:
    default = BuildFacts(100, "exact", 1.0, "same", is_baseline=True, relative_error=error)
    strict, loose = sorted([one, other])
    chosen, looser = best_of([*builds, default], strict), best_of([*builds, default], loose)
    if chosen is not None:
        assert looser is not None
        assert looser.ratio <= chosen.ratio
        assert chosen.relative_error is not None
        assert chosen.relative_error <= strict
        assert chosen.is_baseline or (chosen.is_proved_faster and not chosen.fault)


@given(published)
def test_zero_brings_equal_outputs_or_the_published_model(builds: list[BuildFacts]) -> None:
    chosen = best_of(builds, 0.0)
    assert chosen is None or chosen.relative_error == 0.0


@given(published, st.floats(0, 1))
def test_every_number_brings_a_build_of_the_front(builds: list[BuildFacts], limit: float) -> None:
    front = best_of_each_limit(builds)
    ratios = [one.ratio for one in front.values()]
    assert ratios == sorted(ratios, reverse=True)
    for number, one in front.items():
        assert best_of(builds, number) == one
    # Numbers that are offered are rounded up, so one that is not may lie just below.
    brought = [one for number, one in front.items() if number <= limit]
    best = best_of(builds, limit)
    if brought:
        assert best is not None
        assert best.ratio <= brought[-1].ratio
    assert best is None or any(one.ratio <= best.ratio for one in front.values())


def test_a_least_accuracy_alone_is_named_without_a_class() -> None:
    assert str(Acceptance.of(min_accuracy=0.975)) == "accuracy at least 97.50%"
    both = Acceptance.of("fp16", 0.975)
    assert str(both) == "outputs fp16, accuracy at least 97.50%"
