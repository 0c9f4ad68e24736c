"""Interleaved rounds of several subjects."""

import random
from collections.abc import Callable, Mapping

from benchmarks.report import say

Times = dict[str, list[float]]


def take_turns(
    what: str, subjects: Mapping[str, Callable[[], float]], rounds: int, *, unit_of: float = 0.0
) -> Times:
    """Seconds of each subject per round, in random order within a round, after a warm-up round.
    ``unit_of``: MiB per turn, to report MiB/s; 0 to report seconds."""
    chance = random.Random(0)  # noqa: S311 (it only shuffles)
    times: Times = {name: [] for name in subjects}
    for number in range(-1, rounds):
        order = list(subjects)
        chance.shuffle(order)
        for name in order:
            seconds = subjects[name]()
            if number >= 0:
                times[name].append(seconds)
        if number >= 0:
            summary = ", ".join(_summary(name, times[name][-1], unit_of) for name in subjects)
            say(f"{what} {number + 1}/{rounds}: {summary}")
    return times


def _summary(name: str, seconds: float, mib: float) -> str:
    return f"{name} {mib / seconds:.0f} MiB/s" if mib else f"{name} {seconds:.3f} s"
