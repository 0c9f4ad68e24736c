"""What the benchmark of pipelines makes of measurements."""

from pathlib import Path

import pytest

from benchmarks.pass_subjects import Subject
from benchmarks.pipelines import _figures
from hpcfair.measurement.types import Interval
from workers.engine.passes.objective import PassComparison
from workers.engine.types import Network


def never(_: Path) -> Network:
    raise AssertionError


def measured(compiling: float, running: float) -> PassComparison:
    return PassComparison(
        "measured",
        compile=Interval(compiling, compiling - 0.01, compiling + 0.01),
        latency=Interval(running, running - 0.01, running + 0.01),
    )


def test_gains_are_over_the_networks_of_a_class_beside_each_of_the_compilers_lists() -> None:
    small, large = Subject("small", "resnet", never), Subject("large", "resnet", never)
    text = Subject("text", "bert", never)
    found = {
        small: {"default": measured(0.5, 0.8), "full": measured(0.5, 1.0)},
        large: {"default": measured(0.32, 0.8), "full": measured(0.5, 1.0)},
        text: {"default": measured(1.0, 0.5), "full": PassComparison("invalid", "cannot")},
    }
    figures = _figures(found)
    assert figures["resnet_default"].value == pytest.approx(0.25)
    assert figures["resnet_default"].low < 0.25 < figures["resnet_default"].high
    assert figures["resnet_default_compile"].value == pytest.approx(0.6)
    assert figures["resnet_full"].value == pytest.approx(0)
    assert figures["bert_default"].value == pytest.approx(1)
    assert "bert_full" not in figures
