"""What differs from the live object is refused; where an export came from is written down."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from hpcfair.errors import BadInput
from hpcfair.exporters.agreement import check_agreement
from hpcfair.exporters.environment import script_origin
from hpcfair.runtimes.base import Array

X = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)


def product(x: Array) -> Array:
    return x @ np.full((4, 3), 0.5, np.float32)


def changed(x: Array) -> Array:
    y = product(x)
    y[-1, 2] += 0.1
    return y


def unfinished(x: Array) -> Array:
    y = product(x)
    y[0, 1] = np.nan
    return y


@pytest.fixture
def network(tmp_path: Path, tiny: bytes) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(tiny)
    return path


def test_a_file_that_agrees_passes(network: Path) -> None:
    check_agreement("Tiny", network, lambda arrays: [product(*arrays)], {"x": X})
    check_agreement("Tiny", network, lambda arrays: [product(*arrays) * 1.00001], (X,))


@pytest.mark.parametrize(
    ("predict", "reason"),
    [
        (changed, r"output y .* by 5\.6e-02 .* At \[4, 2\]: 1\.68421 instead of 1\.78421"),
        (unfinished, r"at \[0, 1\]: one of them is not finite"),
        (lambda x: product(x)[:, :2], r"shape \(5, 3\), the model's own has \(5, 2\)"),
        (lambda x: (product(x) > 0).astype(np.int64), r"differs .* in \d+ of 15 values"),
        (lambda x: x @ x, "does not run on the example inputs"),
    ],
)
def test_a_file_that_differs_is_refused_with_place_and_size(
    network: Path, predict: Callable[[Any], Any], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        check_agreement("Tiny", network, lambda arrays: [predict(*arrays)], (X,))


@pytest.mark.parametrize(
    ("examples", "reason"),
    [({"z": X}, "the model takes x"), ((X, X), "2 example inputs were given, the model takes 1")],
)
def test_examples_of_other_names_or_numbers_are_refused(
    network: Path, examples: Any, reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        check_agreement("Tiny", network, lambda arrays: [product(*arrays)], examples)


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_the_commit_of_the_running_script_is_named_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    script = tmp_path / "code" / "train.py"
    script.parent.mkdir()
    script.write_text("train()\n")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    git("init", "--quiet")
    assert script_origin() == ""

    git("add", "code/train.py")
    git("commit", "--quiet", "--message", "Train")
    git("remote", "add", "origin", "https://ada:secret@git.example.org/lab/galaxies.git")
    commit = git("rev-parse", "HEAD")
    origin = f"Script: code/train.py at {commit} of git.example.org/lab/galaxies"
    assert script_origin() == origin

    script.write_text("train(epochs=2)\n")
    assert script_origin() == origin.replace(commit, f"{commit} with changes")
