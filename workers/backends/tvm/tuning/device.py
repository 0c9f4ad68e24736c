"""Times linked schedules on the target's machine, in a child process there. Needs TVM's runtime,
but no compiler."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from collections.abc import Mapping
from typing import Any

from hpcfair import machine
from hpcfair.runtimes.tvm import use_threads
from workers.backends.tvm.tuning import timing


def start() -> None:
    """Use all cores of this machine."""
    use_threads(machine.describe().cores)


def measure(
    *, library: str, arguments: list[Mapping[str, Any]], best_s: float | None
) -> dict[str, Any]:
    """Time a library; see :func:`workers.backends.tvm.tuning.timing.measure_kernel`."""
    return timing.measure_kernel(timing.open_library(library, arguments), best_s)


def race(*, libraries: list[Mapping[str, Any]], rounds: int) -> list[list[float]]:
    """Time libraries in turn, in alternating order. Each has ``library`` (path) and ``arguments``.
    Returns the raw seconds of each."""
    kernels = [timing.open_library(each["library"], each["arguments"]) for each in libraries]
    return timing.race_kernels(kernels, rounds)
