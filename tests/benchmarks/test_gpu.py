"""The bundle for a machine with a GPU, and the figures of its results."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import gpu, gpu_bundle, requirements
from hpcfair import machine


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    wheel = tmp_path / "numpy.whl"
    wheel.write_bytes(b"wheel")
    out = tmp_path / "hpcfair-gpu.tar"
    parts = [("README.md", b"read me"), ("wheels/numpy.whl", wheel)]
    assert gpu_bundle.write_bundle(out, parts, of="abc") == 2
    (tmp_path / "there").mkdir()
    subprocess.run(["tar", "-xf", out, "-C", tmp_path / "there"], check=True)
    return tmp_path / "there" / gpu_bundle.NAME


def test_a_bundle_contains_its_files_and_their_digests(bundle: Path) -> None:
    assert (bundle / "wheels" / "numpy.whl").read_bytes() == b"wheel"
    manifest = json.loads((bundle / gpu_bundle.MANIFEST).read_text())
    assert manifest["commit"] == "abc"
    assert set(manifest["files"]) == {"README.md", "wheels/numpy.whl"}
    assert gpu_bundle.verify(bundle) == []


@pytest.mark.parametrize("damage", ["change", "removal"])
def test_a_damaged_bundle_is_detected(bundle: Path, damage: str) -> None:
    file = bundle / "wheels" / "numpy.whl"
    if damage == "change":
        file.write_bytes(b"whee1")
    else:
        file.unlink()
    assert gpu_bundle.verify(bundle) == ["wheels/numpy.whl"]


def test_a_checkout_is_not_a_bundle(tmp_path: Path) -> None:
    assert gpu_bundle.verify(tmp_path) == []


def test_a_bundle_contains_the_committed_files() -> None:
    names = [name for name, _ in gpu_bundle._committed()]
    assert {"Makefile", "benchmarks/served.py", "client/hpcfair/machine.py"} <= set(names)


def test_requirements_are_those_of_both_packages_without_themselves() -> None:
    listed = requirements.gpu()
    names = {line.partition("[")[0].partition(">")[0].partition("=")[0] for line in listed}
    assert {"onnxruntime-gpu", "tensorrt", "apache-tvm", "Django", "httpx", "pytest"} <= names
    assert not {"hpcfair", "hpcfair-hub"} & names


def test_figures_are_those_of_served_with_the_energy_of_each_build() -> None:
    ratio = {"value": 2.0, "low": 1.9, "high": 2.1, "unit": "ratio"}
    measured = {"energy": {"joules_per_run": 0.5}}
    served = {
        "figures": {"exact": ratio},
        "details": {
            "digits": {"classes": {"exact": measured}},
            "bert": {"classes": {"exact": {"energy": {}}}},
        },
    }
    figures = gpu.figures_of(served)
    assert set(figures) == {"exact", "joules_digits"}
    assert figures["joules_digits"].value == 0.5


def test_a_machine_without_a_gpu_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = replace(machine.describe(), accelerators=())
    monkeypatch.setattr(machine, "describe", lambda: here)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == 2
    assert "make gpu-bundle" in capsys.readouterr().err
