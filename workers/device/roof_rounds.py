"""Rounds of samples; those that others disturbed are repeated."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workers.engine.contention import contention_share, read_load, stolen_share
from workers.engine.rounds import CONTENDED_SHARE, STOLEN_SHARE

#: Undisturbed rounds that are wanted, and rounds after which they are no longer waited for.
ROUNDS, MOST_ROUNDS = 5, 10
#: Seconds of a round, and limits of its samples.
_ROUND_S = 0.1
_FEWEST, _MOST = 3, 200


@dataclass(frozen=True, slots=True)
class Round:
    """Samples in nanoseconds; ``is_disturbed`` if other processes or guests took processors."""

    samples_ns: tuple[int, ...]
    is_disturbed: bool

    def as_json(self) -> dict[str, Any]:
        return {"samples_ns": list(self.samples_ns), "is_disturbed": self.is_disturbed}


def measured_rounds(sample: Callable[[int], tuple[int, ...]], end: float) -> tuple[Round, ...]:
    """Rounds of ``sample(count)``, which returns ``count`` times in nanoseconds.

    ``end`` is the moment of :func:`time.monotonic` after which no further round begins, except for
    the first one.
    """
    (once,) = sample(1)
    count = round(min(max(_ROUND_S * 1e9 / once, _FEWEST), _MOST))
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS:
        before, started = read_load(), time.monotonic()
        samples_ns = sample(count)
        seconds, after = time.monotonic() - started, read_load()
        contended = (contention_share(before, after, seconds) or 0.0) > CONTENDED_SHARE
        stolen = (stolen_share(before, after, seconds) or 0.0) > STOLEN_SHARE
        rounds.append(Round(samples_ns, contended or stolen))
        calm = sum(not each.is_disturbed for each in rounds)
        if calm >= ROUNDS or time.monotonic() > end:
            break
    return tuple(rounds)
