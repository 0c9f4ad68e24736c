"""Builds schedules, and times them on this machine. Runs in children. Code that is timed here is
generated in memory, without compiler or linker processes."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

from hpcfair import machine
from hpcfair.runtimes.tvm import use_threads
from workers.backends.tvm import cross
from workers.backends.tvm.errors import reason_of
from workers.backends.tvm.tuning import timing
from workers.backends.tvm.tuning.workload import context_of, prepare, scheduled, unpack
from workers.engine.errors import InvalidCandidate

_TARGET: list[Any] = []
_CONTEXTS: dict[str, Any] = {}
#: Builds that are not timed yet, by workload and schedule.
_BUILDS: dict[tuple[str, str], timing.TimedKernel] = {}


def start(*, target: dict[str, Any], threads: int) -> None:
    """Prepare for a target, with the threads of builds."""
    use_threads(machine.describe().cores)
    _TARGET[:] = [prepare(target), threads]


def add(*, key: str, source: npt.NDArray[np.uint8]) -> None:
    """Add a workload."""
    target, threads = _TARGET
    strategy = ms.search_strategy.ReplayTrace()
    context = context_of(unpack(source.tobytes()), target, strategy, 1, threads)
    # This also creates the postprocessors.
    context.generate_design_space()
    _CONTEXTS[key] = context


def build(*, key: str, digest: str, sketch: list[Any], decisions: list[Any]) -> None:
    """Build a schedule, for :func:`measure`."""
    _BUILDS[key, digest] = timing.TimedKernel(*_compiled(key, sketch, decisions))


def export(
    *, key: str, sketch: list[Any], decisions: list[Any], triple: str, out: str
) -> list[dict[str, Any]]:
    """Build a schedule for another machine, as the library ``out``; returns ``{"dtype", "shape"}``
    of each argument."""
    module, arguments = _compiled(key, sketch, decisions)
    try:
        with tempfile.TemporaryDirectory() as workspace:
            cross.export(module, Path(out), Path(workspace), triple)
    except Exception as error:
        raise InvalidCandidate(f"linking failed: {reason_of(error)}") from error
    return arguments


def measure(
    *, key: str, digest: str, sketch: list[Any], decisions: list[Any], best_s: float | None
) -> dict[str, Any]:
    """Time a schedule and drop its build. It is built first if this process has not done so. See
    :func:`workers.backends.tvm.tuning.timing.measure_kernel`."""
    if (key, digest) not in _BUILDS:
        build(key=key, digest=digest, sketch=sketch, decisions=decisions)
    return timing.measure_kernel(_BUILDS.pop((key, digest)), best_s)


def race(*, key: str, candidates: list[Mapping[str, Any]], rounds: int) -> list[list[float]]:
    """Time candidates in turn, in alternating order; returns raw seconds of each."""
    compiled = [_compiled(key, c["sketch"], c["decisions"]) for c in candidates]
    return timing.race_kernels([timing.TimedKernel(*each) for each in compiled], rounds)


def _compiled(
    key: str, sketch: list[Any], decisions: list[Any]
) -> tuple[Any, list[dict[str, Any]]]:
    """Machine code of a schedule, and ``{"dtype", "shape"}`` of each of its arguments."""
    schedule = scheduled(_CONTEXTS[key], sketch, decisions)
    try:
        # As in MetaSchedule's builder: weights already have the layout of the schedule.
        module = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(schedule.mod)
        executable = tvm.build(module, target=_TARGET[0])
    except Exception as error:
        raise InvalidCandidate(f"code generation failed: {reason_of(error)}") from error
    infos = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
    arguments = [
        {"dtype": str(info.dtype), "shape": [int(size) for size in info.shape]} for info in infos
    ]
    return executable, arguments
