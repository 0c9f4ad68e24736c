"""Functions of the search child. The state lives as long as the child."""

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.principled import wishes_by_anchor
from workers.backends.tvm.tuning.schedule_search import ScheduleSearch
from workers.backends.tvm.tuning.workload import scheduled, trace_of
from workers.engine.errors import InvalidCandidate

#: Trials of a workload that the model is trained on; more gain little and take long.
_MOST_TRIALS = 96

#: The search of this process.
_SEARCH: list[ScheduleSearch] = []


def start(
    *,
    target: dict[str, Any],
    strategy: str,
    seed: int,
    batch: int,
    threads: int,
    principles: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Begin a search; ``strategy`` is ``evolution`` or ``random``. Each of the ``principles`` has
    an ``anchor``, a ``trait`` and whether it ``is_wanted``."""
    if strategy not in {"evolution", "random"}:
        raise InvalidCandidate(f"there is no strategy {strategy!r}")
    _SEARCH[:] = [
        ScheduleSearch(target, strategy, seed, batch, threads, wishes_by_anchor(principles))
    ]


def add(*, key: str, anchor: str, source: npt.NDArray[np.uint8]) -> None:
    """Add a workload."""
    _SEARCH[0].add(key, anchor, source.tobytes())


def propose(*, key: str, most: int) -> list[dict[str, Any]]:
    """Next candidates of a workload."""
    return _SEARCH[0].propose(_SEARCH[0].tasks[key], most)


def neighbours(
    *, key: str, sketch: list[Any], decisions: moves.Decisions, most: int
) -> list[dict[str, Any]]:
    """Candidates with one changed decision, highest score first."""
    return _SEARCH[0].neighbours(_SEARCH[0].tasks[key], sketch, decisions, most)


def learn(*, key: str, trials: list[dict[str, Any]]) -> None:
    """Add trials of a workload; of many the best and a random sample of the others."""
    search = _SEARCH[0]
    if len(trials) > _MOST_TRIALS:
        ranked = sorted(trials, key=lambda t: t["median_s"] or np.inf)
        half = _MOST_TRIALS // 2
        trials = ranked[:half] + search.rng.sample(ranked[half:], half)
    search.learn(search.tasks[key], trials)


def trace(*, key: str, sketch: list[Any], decisions: moves.Decisions) -> list[Any]:
    """The complete trace of a schedule."""
    return trace_of(scheduled(_SEARCH[0].tasks[key].context, sketch, decisions))
