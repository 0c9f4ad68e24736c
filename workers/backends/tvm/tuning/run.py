"""Builds schedules in its own process and times them. Runs in the run child.

Code is generated straight into this process's memory: no compiler is started, nothing is linked.
"""

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
#: A call that takes longer is timed fewer times.
_LONG_S, _LONG_REPEATS = 0.1, 3
#: So many times the best known, a schedule is hopeless and timed no further.
_HOPELESS = 5.0

_TARGET: list[Any] = []
_CONTEXTS: dict[str, Any] = {}
#: What was built and not timed yet, by workload and schedule.
_BUILT: dict[tuple[str, str], "_Built"] = {}


def start(*, target: dict[str, Any], threads: int) -> None:
    """Prepare for a target, with threads as builds have them."""
    use_threads(machine.describe().cores)
    _TARGET[:] = [prepare(target), threads]


def add(*, key: str, source: npt.NDArray[np.uint8]) -> None:
    """Take in a workload, packed."""
    target, threads = _TARGET
    strategy = ms.search_strategy.ReplayTrace()
    context = context_of(unpack(source.tobytes()), target, strategy, 1, threads)
    # The postprocessors come with the space.
    context.generate_design_space()
    _CONTEXTS[key] = context


def build(*, key: str, digest: str, sketch: list[Any], decisions: list[Any]) -> None:
    """Build a schedule, for :func:`measure`."""
    _BUILT[key, digest] = _Built(_CONTEXTS[key], sketch, decisions)


def measure(
    *, key: str, digest: str, sketch: list[Any], decisions: list[Any], best_s: float | None
) -> dict[str, Any]:
    """Time a schedule that was built; builds it if this process has not, and forgets it.

    Args:
        best_s: Best known of the workload.

    Returns:
        ``seconds`` of a call, raw, and whether it was ``pruned``: timed only once, as hopeless.
    """
    if (key, digest) not in _BUILT:
        build(key=key, digest=digest, sketch=sketch, decisions=decisions)
    built = _BUILT.pop((key, digest))
    # The first run pays for pages and threads; only then it counts.
    built.time(repeats=1, least_ms=0)
    first = built.time(repeats=1, least_ms=0)[0]
    if best_s is not None and first > _HOPELESS * best_s:
        return {"seconds": [first], "pruned": True}
    repeats = _REPEATS if first < _LONG_S else _LONG_REPEATS
    return {"seconds": built.time(repeats=repeats, least_ms=_LEAST_MS), "pruned": False}


def race(*, key: str, candidates: list[Mapping[str, Any]], rounds: int) -> list[list[float]]:
    """Time candidates in turn, back and forth; raw seconds of each."""
    runners = [_Built(_CONTEXTS[key], c["sketch"], c["decisions"]) for c in candidates]
    times: list[list[float]] = [[] for _ in runners]
    for runner in runners:
        runner.time(repeats=1, least_ms=0)
    for turn in range(rounds):
        order = range(len(runners))
        for number in order if turn % 2 == 0 else reversed(order):
            times[number] += runners[number].time(repeats=1, least_ms=_LEAST_MS)
    return times


class _Built:
    """A schedule as machine code. Arguments to run on are made when it is first timed: for large
    workloads those of a whole batch would fill the memory."""

    def __init__(self, context: Any, sketch: list[Any], decisions: list[Any]) -> None:
        schedule = scheduled(context, sketch, decisions)
        try:
            # As MetaSchedule's own builder: weights are taken as already laid out.
            module = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(schedule.mod)
            self._module = tvm.build(module, target=_TARGET[0])
        except Exception as error:
            raise InvalidCandidate(f"code generation failed: {reason_of(error)}") from error
        self._shapes = ms.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
        self._arguments: list[Any] = []

    def time(self, *, repeats: int, least_ms: int) -> list[float]:
        """Seconds of one call, ``repeats`` times, each the mean over at least ``least_ms``."""
        if not self._arguments:
            chance = np.random.default_rng(0)
            self._arguments = [_filled(info, chance) for info in self._shapes]
        evaluator = self._module.time_evaluator(
            "main", tvm.cpu(), number=1, repeat=repeats, min_repeat_ms=least_ms
        )
        return [float(seconds) for seconds in evaluator(*self._arguments).results]


def _filled(info: Any, chance: np.random.Generator) -> Any:
    """An argument with values in it: zeros would run faster than they ought to."""
    shape, dtype = [int(size) for size in info.shape], str(info.dtype)
    if dtype.startswith(("int", "uint", "bool")):
        # 0 and 1 index any table.
        return tvm.runtime.tensor(chance.integers(0, 2, shape).astype(dtype))
    return tvm.runtime.tensor(chance.standard_normal(shape).astype(dtype))
