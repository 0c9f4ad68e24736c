"""Whether a search was still improving when it stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

#: Smallest relative gain that counts, as in the searches themselves.
GAIN = 0.02
#: Part of the search that is its end.
_END = 0.25


@dataclass(frozen=True, slots=True)
class Plateau:
    """The end of a search of ``trials`` trials.

    Attributes:
        best: Position of the fastest trial; ``None`` if none was measured.
        last_gain: Position of the last trial that improved the best time by more than
            :data:`GAIN`; the first measured one counts.
        since: Trials after it.
        end_share: Share of the whole gain, as a logarithm, that fell into the last quarter of the
            trials; 0 if there was no gain.
        chance: Probability that so long an end brings no new best even if every trial were drawn
            anew from the same distribution, so that searching on could still help: trials up to
            the best, divided by all (the probability of no record).
    """

    trials: int
    best: int | None
    last_gain: int | None
    since: int
    end_share: float
    chance: float


def best_so_far(times: Sequence[float | None]) -> list[tuple[int, float]]:
    """Positions and times of the trials that were faster than all before."""
    steps: list[tuple[int, float]] = []
    for at, time in enumerate(times):
        if time is not None and (not steps or time < steps[-1][1]):
            steps.append((at, time))
    return steps


def plateau(times: Sequence[float | None], gain: float = GAIN) -> Plateau:
    """The end of a search, from the time of each trial in order, ``None`` for one without."""
    steps = best_so_far(times)
    count = len(times)
    if not steps:
        return Plateau(count, None, None, count, 0.0, 1.0)
    level, last = steps[0][1], steps[0][0]
    for at, time in steps[1:]:
        # Small gains add up: the level moves only when one counts.
        if time < level * (1 - gain):
            level, last = time, at
    total = log(steps[0][1] / steps[-1][1])
    start = count * (1 - _END)
    before = [time for at, time in steps if at < start]
    late = log(before[-1] / steps[-1][1]) if before else total
    return Plateau(
        trials=count,
        best=steps[-1][0],
        last_gain=last,
        since=count - 1 - last,
        end_share=late / total if total > 0 else 0.0,
        chance=(steps[-1][0] + 1) / count,
    )
