"""Checks and benchmarks on an NVIDIA GPU in one run: tests, the benchmark ``served``, energy.

``make gpu [ARGS=--quick]`` on a machine with a GPU, in a checkout or in an unpacked bundle of
``make gpu-bundle``. It writes ``gpu-results/``: ``checks.txt`` and ``served.json``. The last line
of stdout is one JSON object, as of every benchmark.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu_bundle import verify
from benchmarks.report import Figure, counted, environment, report, say
from benchmarks.requirements import ROOT
from hpcfair import machine

#: Tests of the GPU backends and their surroundings; without a GPU most of them are skipped.
_TESTS = (
    *("tests/workers/backends/test_gpu.py", "tests/workers/backends/test_tvm_cuda.py"),
    *("tests/workers/fleet", "client/tests/test_nvidia.py"),
)
_REQUIRED = "gpu onnxruntime_cuda tensorrt"
_PACKAGES = ("onnxruntime-gpu", "tensorrt", "apache-tvm", "numpy")
_BASELINE = "ONNX Runtime's CUDA provider, nothing set, in the same interleaved run"


def main() -> None:
    """Check, measure, report. Exits with 1 if the checks fail, 2 if the machine cannot run them."""
    options = _options()
    if damaged := verify(ROOT):
        sys.exit(f"The bundle is damaged; these files differ: {', '.join(damaged[:5])}")
    gpus = machine.describe().accelerators
    if not gpus:
        sys.stderr.write(
            "This machine has no NVIDIA GPU. `make gpu-bundle` writes one file for a machine that "
            "has one.\n"
        )
        sys.exit(2)
    options.out.mkdir(exist_ok=True)
    say(f"checks on {gpus[0].name}")
    has_passed = run_checks(options.out / "checks.txt")
    say("the benchmark served")
    served = run_served(options.out / "served.json", ["--quick"] if options.quick else [])
    figures = {"checks": counted(float(has_passed), "1 if all passed"), **figures_of(served)}
    facts = environment(*_PACKAGES, gpu=gpus[0].name, driver=gpus[0].driver)
    report("gpu", figures, baseline=_BASELINE, environment=facts)
    if not has_passed:
        sys.exit(1)


def run_checks(log: Path) -> bool:
    """Run the tests of GPUs, with their output in ``log``; returns whether all passed."""
    command = [sys.executable, "-m", "pytest", "--nomigrations", "-q", *_TESTS]
    with log.open("w") as file:
        result = subprocess.run(
            command,
            cwd=ROOT,
            env={**_environment(), "HPCFAIR_REQUIRED_PROGRAMS": _REQUIRED},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    for line in log.read_text().splitlines()[-8:]:
        say(line)
    return result.returncode == 0


def run_served(out: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Run the benchmark ``served`` on the GPU; returns its report, which is also written to
    ``out``. Raises CalledProcessError if it failed."""
    command = [sys.executable, "-m", "benchmarks.served", "--target", "gpu", *arguments]
    result = subprocess.run(
        command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    line = result.stdout.splitlines()[-1]
    out.write_text(line + "\n")
    document: dict[str, Any] = json.loads(line)
    return document


def figures_of(served: Mapping[str, Any]) -> dict[str, Figure]:
    """Figures of the report of ``served``, and joules per run of each served build whose energy was
    measured."""
    figures = {name: Figure(**figure) for name, figure in served["figures"].items()}
    for model, result in served["details"].items():
        build = result["classes"]["exact"]
        if "joules_per_run" in build.get("energy", {}):
            joules = build["energy"]["joules_per_run"]
            figures[f"joules_{model}"] = counted(joules, "J per run, whole machine as counted")
    return figures


def _environment() -> dict[str, str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "client")))
    return {**os.environ, "PYTHONPATH": path}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "gpu-results")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    return parser.parse_args()


if __name__ == "__main__":
    main()
