"""What the benchmark of passes makes of measurements."""

from pathlib import Path

import pytest

from benchmarks.pass_subjects import Studied, Subject
from benchmarks.passes import _figures
from workers.engine.passes.menu import DEFAULT, Menu
from workers.engine.passes.objective import Finding
from workers.engine.types import Interval, Workload

MENU = Menu(options={}, default=("a", "b"), full=("a", "b", "c"))


def never(_: Path) -> Workload:
    raise AssertionError


def ratio(value: float, wide: float = 0.01) -> Interval:
    return Interval(value, value - wide, value + wide)


def studied(name: str, figure: str, compiling: float, running: float) -> Studied:
    finding = Finding("measured", compile=ratio(compiling), latency=ratio(running))
    found = Studied(Subject(name, figure, never), "other", MENU)
    found.findings = {("a", DEFAULT): finding, ("a", "a,b,c"): finding}
    return found


def chosen(*names: str) -> dict[str, dict[str, str]]:
    return {name: {"compile": "a", "latency": "a"} for name in names}


def test_a_cut_is_of_both_baselines_and_over_the_networks_of_a_class() -> None:
    found = [studied("x", "resnet", 0.5, 0.8), studied("y", "resnet", 0.32, 0.8)]
    figures = _figures("tvm", found, chosen("x", "y"))
    for name in ("resnet", "resnet_default"):
        assert figures[name].value == pytest.approx(0.6)
        assert figures[name].low < 0.6 < figures[name].high
    assert figures["resnet_throughput"].value == pytest.approx(0.25)
    assert figures["portfolio_class_tvm"].value == pytest.approx(0.4)


def test_a_list_that_slows_code_counts_as_no_gain() -> None:
    figures = _figures("tvm", [studied("x", "bert", 0.1, 1.02)], chosen("x"))
    assert figures["bert"].value == 0
    assert "resnet" not in figures
    assert "resnet_throughput" not in figures


def test_onnx_runtime_has_its_own_list_only() -> None:
    figures = _figures("onnxruntime", [studied("x", "ssd", 0.5, 1.0)], chosen("x"))
    assert figures["ssd_onnxruntime"].value == pytest.approx(0.5)
    assert "ssd" not in figures
