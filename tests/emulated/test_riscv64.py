"""Kernels that TVM compiles for RISC-V here compute the same on an emulated RISC-V machine.

There is no wheel of TVM for it, so a program of a page calls the library.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.emulated.enter import command
from hpcfair.isolation.limits import Limits
from tests.programs import needs
from workers.backends.tvm import cross
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.child import Child
from workers.engine.types import TargetSpec
from workers.testing import networks

pytestmark = [needs("tvm"), needs("zig"), needs("riscv64"), needs("emulation"), pytest.mark.slow]

RISCV = TargetSpec("riscv64-generic-emulated", "riscv64", frozenset({"emulated"}), 1, None)
LIMITS = Limits(wall_s=600.0)
_KERNEL = Path(__file__).with_name("kernel.c")
_WORK = "tests.emulated.kernels"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that calls a kernel, for RISC-V."""
    folder = tmp_path_factory.mktemp("program")
    caches = {f"ZIG_{kind}_CACHE_DIR": str(folder / "cache") for kind in ("GLOBAL", "LOCAL")}
    out = folder / "kernel"
    zig = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        "riscv64-linux-gnu.2.36",
        "-O1",
        "-rdynamic",
    ]
    subprocess.run([*zig, str(_KERNEL), "-o", str(out)], check=True, env={**os.environ, **caches})
    return out


def test_a_kernel_for_riscv_computes_what_one_for_this_machine_does(
    program: Path, tmp_path: Path
) -> None:
    for name in ("apart", "build"):
        (tmp_path / name).mkdir()
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    tasks = tasks_of(network, RISCV, limits=LIMITS, scratch=tmp_path / "apart")
    assert len(tasks) > 3
    tests = Path(__file__).parents[1]
    with Child(LIMITS, tmp_path / "build", [tests], programs=True) as child:
        for task in tasks:
            shapes = [tuple(each["shape"]) for each in task.arguments]
            library = tmp_path / "build" / f"{task.key[:8]}.so"
            inputs = _tensors(shapes)
            own: list[Any] = child.call(
                f"{_WORK}:compile_and_run",
                source=np.frombuffer(task.source, np.uint8),
                target=target_of(RISCV),
                triple=cross.TRIPLES["riscv64"],
                out=str(library),
                inputs=inputs,
            )
            theirs = _run_there(program, library, inputs)
            for here, there in zip(own, theirs, strict=True):
                np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6, err_msg=task.name)


def _tensors(shapes: list[tuple[int, ...]]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def _run_there(program: Path, library: Path, inputs: list[Any]) -> list[Any]:
    """The tensors after the call, on the emulated machine."""
    data = library.with_suffix(".bin")
    data.write_bytes(b"".join(tensor.tobytes() for tensor in inputs))
    shapes = ["x".join(map(str, tensor.shape)) for tensor in inputs]
    folders = [program.parent, library.parent]
    run = command("riscv64", [str(program), str(library), str(data), *shapes], folders)
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    flat = np.frombuffer(data.read_bytes(), np.float32)
    ends = np.cumsum([tensor.size for tensor in inputs])[:-1]
    parts = np.split(flat, ends)
    return [part.reshape(tensor.shape) for part, tensor in zip(parts, inputs, strict=True)]
