"""What the benchmark of undecided gains counts."""

from typing import Any

import pytest

from benchmarks.undecided import Course, figures_of, undecided_gain
from hpcfair.types import Build


def build(ratio: float, tolerance: str = "exact", **more: Any) -> Build:
    row = {"uuid": "", "target": "cpu", "backend": "tvm", "runtime": "", "entry_point": ""}
    return Build.from_json(
        {**row, "ratio": ratio, "tolerance": tolerance, "verdict": "faster", **more}
    )


def test_a_gain_is_undecided_over_the_best_build_that_the_class_accepts() -> None:
    candidate = {"tolerance": "bf16", "ratio": 0.5}
    assert undecided_gain([], [build(0.9)]) == 0.0
    assert undecided_gain([candidate], []) == pytest.approx(1.0)
    assert undecided_gain([candidate], [build(0.8)]) == pytest.approx(0.6)
    # int8 is coarser than bf16; what is no single stream or not proved is no rival.
    others = [
        build(0.4, "int8"),
        build(0.4, scenario="offline"),
        build(0.4, verdict="unstable"),
        build(1.25),
    ]
    assert undecided_gain([candidate], others) == pytest.approx(1.0)
    assert undecided_gain([{"tolerance": "bf16", "ratio": 0.95}], [build(0.8)]) == 0.0


def test_searches_are_undecided_at_moments_after_their_own_ends() -> None:
    late = Course(ended_s=100.0, gains=[(0.0, 0.2), (400.0, 0.04)])
    never = Course(ended_s=300.0, gains=[(0.0, 0.0)])
    always = Course(ended_s=500.0, gains=[(0.0, 0.06)])
    figures = figures_of([late, never, always], minutes=10.0)
    shares = {name: round(figure.value, 3) for name, figure in figures.items()}
    assert shares == {"undecided_0_min": 0.667, "undecided_5_min": 0.667, "undecided_10_min": 0.333}
