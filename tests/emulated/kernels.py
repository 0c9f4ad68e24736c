"""Compiles kernels for another machine and runs them on this one. Runs in a child."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm

from workers.backends.tvm import cross
from workers.backends.tvm.tuning.workload import unpack


def compile_and_run(
    *,
    source: npt.NDArray[np.uint8],
    target: Mapping[str, Any],
    triple: str,
    out: str,
    inputs: list[npt.NDArray[np.float32]],
) -> list[npt.NDArray[np.float32]]:
    """Write the library of a loop nest for ``target`` to ``out``; returns the tensors after a call
    of the same loop nest on this machine."""
    module = tvm.IRModule({"main": unpack(source.tobytes()).with_attr("global_symbol", "main")})
    with tempfile.TemporaryDirectory() as workspace:
        library = tvm.build(module, target=tvm.target.Target(dict(target)))
        cross.export(library, Path(out), Path(workspace), triple)
    tensors = [tvm.runtime.tensor(array) for array in inputs]
    tvm.build(module, target=tvm.target.Target({"kind": "llvm"}))["main"](*tensors)
    return [tensor.numpy() for tensor in tensors]
