"""What the benchmark of passes makes of measurements."""

from pathlib import Path

import pytest

from benchmarks.pass_subjects import NetworkStudy, Subject
from benchmarks.passes import _figures, _pool
from hpcfair.measurement.types import Interval
from workers.engine.passes.menu import DEFAULT, Menu
from workers.engine.passes.objective import PassComparison, PassTrial
from workers.engine.types import Network

MENU = Menu(options={}, default=("a", "b"), full=("a", "b", "c"))


def never(_: Path) -> Network:
    raise AssertionError


def ratio(value: float, wide: float = 0.01) -> Interval:
    return Interval(value, value - wide, value + wide)


def network_study(name: str, figure: str, compiling: float, running: float) -> NetworkStudy:
    comparison = PassComparison("measured", compile=ratio(compiling), latency=ratio(running))
    study = NetworkStudy(Subject(name, figure, never), "other", MENU)
    study.comparisons = {("a", DEFAULT): comparison, ("a", "a,b,c"): comparison}
    return study


def chosen(*names: str) -> dict[str, dict[str, str]]:
    return {name: {"compile": "a", "latency": "a"} for name in names}


def test_a_cut_is_of_both_baselines_and_over_the_networks_of_a_class() -> None:
    studies = [network_study("x", "resnet", 0.5, 0.8), network_study("y", "resnet", 0.32, 0.8)]
    figures = _figures("tvm", studies, chosen("x", "y"))
    for name in ("resnet", "resnet_default"):
        assert figures[name].value == pytest.approx(0.6)
        assert figures[name].low < 0.6 < figures[name].high
    assert figures["resnet_throughput"].value == pytest.approx(0.25)
    assert figures["portfolio_class_tvm"].value == pytest.approx(0.4)


def test_a_list_that_slows_code_counts_as_no_gain() -> None:
    figures = _figures("tvm", [network_study("x", "bert", 0.1, 1.02)], chosen("x"))
    assert figures["bert"].value == 0
    assert "resnet" not in figures
    assert "resnet_throughput" not in figures


def test_onnx_runtime_has_its_own_list_only() -> None:
    figures = _figures("onnxruntime", [network_study("x", "ssd", 0.5, 1.0)], chosen("x"))
    assert figures["ssd_onnxruntime"].value == pytest.approx(0.5)
    assert "ssd" not in figures


def winner(passes: str, compiling: float, running: float) -> PassTrial:
    comparison = PassComparison("measured", compile=ratio(compiling), latency=ratio(running))
    return PassTrial(0, "final", passes, comparison)


def test_every_network_tries_the_list_that_cut_most_on_each() -> None:
    one, two, three = (network_study(name, "bert", 1.0, 1.0) for name in "xyz")
    one.winners = (winner("b", 0.9, 1.0), winner("a", 0.4, 1.0))
    two.winners = (winner("a,b", 1.3, 0.7),)  # quicker code, not compiled quicker
    three.winners = (winner("a", 0.5, 1.0),)
    assert _pool([one, two, three]) == ["a"]
    assert _pool([two]) == []


def test_a_list_that_one_network_did_not_try_decides_nothing() -> None:
    """It would count as no gain there, and for whoever chose it as a bad choice."""
    studies = [network_study("x", "resnet", 0.5, 1.0), network_study("y", "resnet", 0.5, 1.0)]
    studies[1].comparisons["b", DEFAULT] = PassComparison(
        "measured", compile=ratio(0.1), latency=ratio(1.0)
    )
    figures = _figures("tvm", studies, chosen("x", "y"))
    for grouping in ("class", "global", "shuffled"):
        assert figures[f"portfolio_{grouping}_tvm"].value == pytest.approx(0.5)


def test_the_range_of_a_choice_is_over_networks() -> None:
    studies = [
        network_study(name, "resnet", cut, 1.0)
        for name, cut in (("x", 0.2), ("y", 0.5), ("z", 0.8))
    ]
    figure = _figures("tvm", studies, chosen("x", "y", "z"))["portfolio_class_tvm"]
    assert 0.2 <= figure.low < figure.value < figure.high <= 0.8
