"""Which value replaces a decision that an ablation reverts. Does not import TVM.

The format of decisions is described in :mod:`workers.backends.tvm.tuning.moves`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from workers.backends.tvm.tuning.moves import CATEGORY, LOCATION, TILE
from workers.engine.schedules.ablation import Reversal
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTrial

#: Compute location at the root of all loops: the block is not moved.
_ROOT = -1


def reversals(best: ScheduleCandidate, trials: Sequence[ScheduleTrial]) -> list[Reversal]:
    """The best schedule with each decision reverted in turn.

    - A tile becomes the value of the fastest trial that has another one ("next best"), and in a
      second reversal it is not tiled at all: all iterations in the outermost loop.
    - A choice among numbers, such as the unrolling, becomes 0 or the first choice, a compute
      location the root of all loops: the loop nest without that decision. If the best schedule has
      that value itself, it becomes the most common other one.

    First reversals come before second ones, so that a short budget covers all decisions. A decision
    without any other value is left out.

    Args:
        trials: Of the same workload; those of other sketches are not comparable and left out.
    """
    peers = [
        trial
        for trial in trials
        if trial.result.outcome == "measured" and trial.candidate.sketch == best.sketch
    ]
    first: list[Reversal] = []
    second: list[Reversal] = []
    for position in range(len(best.decisions)):
        for order, (value, reason) in zip(
            (first, second), _alternatives(best, position, peers), strict=False
        ):
            order.append(Reversal(position, value, reason, changed(best, position, value)))
    return [*first, *second]


def changed(best: ScheduleCandidate, position: int, value: Any) -> ScheduleCandidate:
    """``best`` with the value of one decision replaced."""
    decisions = [list(decision) for decision in best.decisions]
    decisions[position][1] = value
    return replace(best, decisions=decisions, proposed_by="ablation", predicted=None)


def _alternatives(
    best: ScheduleCandidate, position: int, peers: Sequence[ScheduleTrial]
) -> Iterator[tuple[Any, str]]:
    index, value = best.decisions[position]
    kind, _, attributes, _ = best.sketch[index]
    if kind == TILE:
        yield from _tiles(value, _others(position, value, peers))
    elif kind == CATEGORY:
        choices = list(attributes[0])
        plain = choices.index(0) if 0 in choices else 0
        words = f"{choices[plain]}, the plain loop" if choices[plain] == 0 else "the first choice"
        yield from _plain_or_common(
            value, plain, words, _others(position, value, peers), list(range(len(choices)))
        )
    elif kind == LOCATION:
        yield from _plain_or_common(
            value, _ROOT, "computed before all loops", _others(position, value, peers), []
        )


def _tiles(
    value: list[int], others: Sequence[tuple[float, Any]]
) -> Iterator[tuple[list[int], str]]:
    untiled = [prod(value), *[1] * (len(value) - 1)]
    next_best = min(others, key=lambda other: other[0])[1] if others else None
    if next_best is not None:
        yield next_best, f"next best value in {len(others)} trials"
    if untiled not in (value, next_best):
        yield untiled, "not tiled"


def _plain_or_common(
    value: Any, plain: Any, words: str, others: Sequence[tuple[float, Any]], choices: list[int]
) -> Iterator[tuple[Any, str]]:
    if value != plain:
        yield plain, words
    elif others:
        common, count = Counter(other for _, other in others).most_common(1)[0]
        yield common, f"most common other value, in {count} trials"
    elif rest := [choice for choice in choices if choice != value]:
        yield rest[-1], "the last choice; no other value was tried"


def _others(position: int, value: Any, peers: Sequence[ScheduleTrial]) -> list[tuple[float, Any]]:
    """Time and value of the trials that decided otherwise."""
    others = []
    for trial in peers:
        other = trial.candidate.decisions[position][1]
        seconds = trial.result.median_s
        if seconds is not None and json.dumps(other) != json.dumps(value):
            others.append((seconds, other))
    return others
