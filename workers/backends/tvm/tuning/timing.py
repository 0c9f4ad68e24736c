"""Times built schedules, on this machine or the device's. Runs in child processes."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm

from workers.engine.errors import InvalidCandidate

_REPEATS, _LEAST_MS = 5, 10
#: Calls slower than this are timed fewer times.
_LONG_S, _LONG_REPEATS = 0.1, 3
#: Schedules slower than the best by this factor are not timed further.
_PRUNE_RATIO = 5.0


class TimedKernel:
    """The machine code of a schedule, ready to be timed. Arguments are created when it is first
    timed, because those of a batch of large workloads would exhaust the memory.

    Args:
        module: Runtime module whose function ``main`` is timed.
        arguments: ``{"dtype", "shape"}`` of each argument.
    """

    def __init__(self, module: Any, arguments: Sequence[Mapping[str, Any]]) -> None:
        self._module, self._specs = module, arguments
        self._arguments: list[Any] = []

    def time(self, *, repeats: int, least_ms: int) -> list[float]:
        """Seconds of one call, ``repeats`` times, each the mean over at least ``least_ms``."""
        if not self._arguments:
            rng = np.random.default_rng(0)
            self._arguments = [_argument(spec, rng) for spec in self._specs]
        evaluator = self._module.time_evaluator(
            "main", tvm.cpu(), number=1, repeat=repeats, min_repeat_ms=least_ms
        )
        return [float(seconds) for seconds in evaluator(*self._arguments).results]


def open_library(library: str, arguments: Sequence[Mapping[str, Any]]) -> TimedKernel:
    """The kernel of a linked library; raises InvalidCandidate if it cannot be opened."""
    try:
        return TimedKernel(tvm.runtime.load_module(library), arguments)
    # TVM's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"the library cannot be opened: {error}") from error


def measure_kernel(kernel: TimedKernel, best_s: float | None) -> dict[str, Any]:
    """Raw ``seconds`` per call, and whether the schedule was ``pruned``: timed only once because it
    is much slower than ``best_s``, the workload's best time so far in seconds."""
    # The first run allocates pages and starts threads.
    kernel.time(repeats=1, least_ms=0)
    first = kernel.time(repeats=1, least_ms=0)[0]
    if best_s is not None and first > _PRUNE_RATIO * best_s:
        return {"seconds": [first], "pruned": True}
    repeats = _REPEATS if first < _LONG_S else _LONG_REPEATS
    return {"seconds": kernel.time(repeats=repeats, least_ms=_LEAST_MS), "pruned": False}


def race_kernels(kernels: Sequence[TimedKernel], rounds: int) -> list[list[float]]:
    """Raw seconds of each kernel, timed in turn in alternating order."""
    times: list[list[float]] = [[] for _ in kernels]
    for kernel in kernels:
        kernel.time(repeats=1, least_ms=0)
    for turn in range(rounds):
        order = range(len(kernels))
        for number in order if turn % 2 == 0 else reversed(order):
            times[number] += kernels[number].time(repeats=1, least_ms=_LEAST_MS)
    return times


def _argument(spec: Mapping[str, Any], rng: np.random.Generator) -> Any:
    """A random argument; zeros would run faster than real values."""
    shape, dtype = spec["shape"], spec["dtype"]
    if dtype.startswith(("int", "uint", "bool")):
        # 0 and 1 are valid indices of most tables.
        return tvm.runtime.tensor(rng.integers(0, 2, shape).astype(dtype))
    return tvm.runtime.tensor(rng.standard_normal(shape).astype(dtype))
