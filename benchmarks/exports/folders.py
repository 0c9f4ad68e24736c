"""Folders of exported networks, made by the exporters' own environment."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.exports.drawing import Export
from benchmarks.networks import SAMPLES
from benchmarks.report import say
from examples.models.folder import reference_session
from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from tests.environments import Environments

_ROOT = Path(__file__).resolve().parent.parent.parent
#: Not timm: its torchvision has no wheel that fits a PyTorch without CUDA on the package index.
EXPORTERS = Environments(
    _ROOT / ".exports",
    {
        "exporters": (
            *("torch==2.13.0", "onnx==1.23.2", "onnxscript==0.7.2", "transformers==5.23.0"),
            *("scikit-learn==1.9.1", "skl2onnx==1.20.0", "onnxmltools==1.16.0", "keras==3.15.1"),
            *("xgboost-cpu==3.2.0", "lightgbm==4.7.0"),
        )
    },
)
_PROBLEM = "problem.json"
#: Of the export, with the training of weights.
_WALL_S = 1800.0


class NotExported(Exception):
    """A live model cannot be made or exported, or its file computes something else: no fault of a
    backend. ``step`` is ``build``, ``run``, ``export`` or ``compare``."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(reason)
        self.step = step


def folder_of(export: Export, cache: Path, python: Path | None = None) -> Path:
    """The folder of a network, exported now unless it is in ``cache``.

    Args:
        python: Interpreter with the exporters; by default that of :data:`EXPORTERS`.

    Raises:
        NotExported: also if an earlier attempt failed.
    """
    folder = cache / "exports" / export.slug
    problem = folder / _PROBLEM
    if problem.exists():
        raise NotExported(**json.loads(problem.read_text()))
    if not (folder / SAMPLES).exists():
        say(f"{export.slug}: exporting")
        answer = _write(export, folder, python or EXPORTERS.python_of("exporters"))
        answer = answer or _difference(folder)
        if answer:
            problem.write_text(json.dumps(answer))
            raise NotExported(**answer)
    return folder


def _write(export: Export, folder: Path, python: Path) -> dict[str, str]:
    """Export into ``folder`` in a process of its own; what failed, or nothing."""
    draft = folder.with_name(f"{folder.name}.draft")
    for old in (draft, folder):
        shutil.rmtree(old, ignore_errors=True)
    draft.mkdir(parents=True)
    command = [
        *(str(python), "-m", "benchmarks.exports.write"),
        *(json.dumps(export.as_dict()), str(draft.resolve())),
    ]
    try:
        done = subprocess.run(
            command, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=_WALL_S
        )
    except subprocess.TimeoutExpired:
        answer: dict[str, Any] = {"step": "export", "reason": f"it takes over {_WALL_S:g} s"}
    else:
        answer = _answer(done)
    draft.rename(folder)
    return answer


def _answer(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        last = (done.stderr.splitlines() or ["no output"])[-1]
        return {"step": "export", "reason": f"the process ended with {done.returncode}: {last}"}
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def _difference(folder: Path) -> dict[str, str]:
    """How the file's outputs, unoptimised in ONNX Runtime, differ from those of the live model."""
    model = onnx.load(folder / "model.onnx")
    with np.load(folder / SAMPLES) as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs, outputs = _part(arrays, "inputs/"), _part(arrays, "outputs/")
    compared = OutputComparison()
    try:
        session = reference_session(model)
        for row in range(len(next(iter(inputs.values())))):
            one = slice(row, row + 1)
            results = session.run(list(outputs), {name: a[one] for name, a in inputs.items()})
            live = {name: array[one] for name, array in outputs.items()}
            compared.add(live, dict(zip(outputs, results, strict=True)))
    except OutputMismatch as error:
        return {"step": "compare", "reason": str(error)}
    # ONNX Runtime's exceptions share no base below Exception.
    except Exception as error:  # noqa: BLE001
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return {"step": "compare", "reason": f"ONNX Runtime does not run it: {reason[:400]}"}
    excess = violation("exact", compared.deviation())
    return {"step": "compare", "reason": excess} if excess else {}


def _part(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def main() -> None:
    """Make the environment of the exporters."""
    sys.stdout.write(f"{EXPORTERS.python_of('exporters')}\n")


if __name__ == "__main__":
    main()
