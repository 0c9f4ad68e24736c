"""The bar every other strategy has to clear."""

from collections.abc import Set
from random import Random

from workers.engine.strategies.base import Proposal, Spaces, Strategy
from workers.engine.strategies.joint import JointSpace
from workers.engine.types import Candidate

#: Spaces up to this size are drawn from without replacement by shuffling all of them.
_SMALL = 4096


class RandomSearch(Strategy):
    """Draws without replacement, every configuration of every backend with the same probability.

    With ``k`` good ones among ``N``, the first comes after ``(N + 1) / (k + 1)`` draws on average.
    """

    name = "random"

    def __init__(self, spaces: Spaces, seed: int) -> None:
        super().__init__()
        self._space = JointSpace(spaces)
        self._seed = seed

    def propose(self, taken: Set[str]) -> Proposal | None:
        candidate = draw(self._space, self._seed, taken)
        return Proposal(candidate, self.name) if candidate else None


def draw(space: JointSpace, seed: int, taken: Set[str]) -> Candidate | None:
    """A candidate that is not taken, the same one for the same arguments; ``None`` if all are."""
    rng = Random(f"{seed}")  # noqa: S311 - a search, not a secret
    if space.size <= _SMALL:
        order = list(range(space.size))
        rng.shuffle(order)
        candidates = (space.at(index) for index in order)
        return next((c for c in candidates if c.sha256 not in taken), None)
    # Few are taken of a large space, so a repeat is rare; the sequence of draws is fixed.
    while True:
        candidate = space.sample(rng)
        if candidate.sha256 not in taken:
            return candidate
