"""Builds and times schedules in the run child. Code is generated in memory, without compiler or
linker processes."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tvm
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

from hpcfair import machine
from hpcfair.runtimes.tvm import use_threads
from workers.backends.tvm.errors import reason_of
from workers.backends.tvm.tuning.workload import context_of, prepare, scheduled, unpack
from workers.engine.errors import InvalidCandidate

_REPEATS, _LEAST_MS = 5, 10
#: Calls slower than this are timed fewer times.
_LONG_S, _LONG_REPEATS = 0.1, 3
#: Schedules slower than the best by this factor are not timed further.
_PRUNE_RATIO = 5.0

_TARGET: list[Any] = []
_CONTEXTS: dict[str, Any] = {}
#: Builds that are not timed yet, by workload and schedule.
_BUILDS: dict[tuple[str, str], "_ScheduleBuild"] = {}


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
    _BUILDS[key, digest] = _ScheduleBuild(_CONTEXTS[key], sketch, decisions)


def measure(
    *, key: str, digest: str, sketch: list[Any], decisions: list[Any], best_s: float | None
) -> dict[str, Any]:
    """Time a schedule, building it if this process has not, and drop its build.

    ``best_s`` is the workload's best time so far. Returns raw ``seconds`` per call, and whether it
    was ``pruned``: timed only once because it is slow.
    """
    if (key, digest) not in _BUILDS:
        build(key=key, digest=digest, sketch=sketch, decisions=decisions)
    runner = _BUILDS.pop((key, digest))
    # The first run allocates pages and starts threads.
    runner.time(repeats=1, least_ms=0)
    first = runner.time(repeats=1, least_ms=0)[0]
    if best_s is not None and first > _PRUNE_RATIO * best_s:
        return {"seconds": [first], "pruned": True}
    repeats = _REPEATS if first < _LONG_S else _LONG_REPEATS
    return {"seconds": runner.time(repeats=repeats, least_ms=_LEAST_MS), "pruned": False}


def race(*, key: str, candidates: list[Mapping[str, Any]], rounds: int) -> list[list[float]]:
    """Time candidates in turn, in alternating order; returns raw seconds of each."""
    runners = [_ScheduleBuild(_CONTEXTS[key], c["sketch"], c["decisions"]) for c in candidates]
    times: list[list[float]] = [[] for _ in runners]
    for runner in runners:
        runner.time(repeats=1, least_ms=0)
    for turn in range(rounds):
        order = range(len(runners))
        for number in order if turn % 2 == 0 else reversed(order):
            times[number] += runners[number].time(repeats=1, least_ms=_LEAST_MS)
    return times


class _ScheduleBuild:
    """The machine code of a schedule. Arguments are created when it is first timed, because those
    of a batch of large workloads would exhaust the memory."""

    def __init__(self, context: Any, sketch: list[Any], decisions: list[Any]) -> None:
        schedule = scheduled(context, sketch, decisions)
        try:
            # As in MetaSchedule's builder: weights already have the layout of the schedule.
            module = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(schedule.mod)
            self._module = tvm.build(module, target=_TARGET[0])
        except Exception as error:
            raise InvalidCandidate(f"code generation failed: {reason_of(error)}") from error
        self._shapes = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
        self._arguments: list[Any] = []

    def time(self, *, repeats: int, least_ms: int) -> list[float]:
        """Seconds of one call, ``repeats`` times, each the mean over at least ``least_ms``."""
        if not self._arguments:
            rng = np.random.default_rng(0)
            self._arguments = [_argument(info, rng) for info in self._shapes]
        evaluator = self._module.time_evaluator(
            "main", tvm.cpu(), number=1, repeat=repeats, min_repeat_ms=least_ms
        )
        return [float(seconds) for seconds in evaluator(*self._arguments).results]


def _argument(info: Any, rng: np.random.Generator) -> Any:
    """A random argument; zeros would run faster than real values."""
    shape, dtype = [int(size) for size in info.shape], str(info.dtype)
    if dtype.startswith(("int", "uint", "bool")):
        # 0 and 1 are valid indices of most tables.
        return tvm.runtime.tensor(rng.integers(0, 2, shape).astype(dtype))
    return tvm.runtime.tensor(rng.standard_normal(shape).astype(dtype))
