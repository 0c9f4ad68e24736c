"""The bar every other strategy has to clear."""

from collections.abc import Iterable, Set
from functools import cached_property
from random import Random

from workers.engine.strategies.base import Proposal, Spaces, Strategy
from workers.engine.strategies.joint import JointSpace
from workers.engine.types import Candidate

#: Spaces up to this size are drawn from without replacement by shuffling all of them.
SMALL = 4096
#: Draws from a larger one before what is left of it is searched in order.
_DRAWS = 64


class RandomSearch(Strategy):
    """Draws without replacement, every configuration of every backend with the same probability.

    With ``k`` good ones among ``N``, the first comes after ``(N + 1) / (k + 1)`` draws on average.
    """

    name = "random"

    def __init__(self, spaces: Spaces, seed: int) -> None:
        super().__init__()
        self._urn = Urn(JointSpace(spaces), seed)

    def propose(self, taken: Set[str]) -> Proposal | None:
        candidate = self._urn.draw(taken)
        return Proposal(candidate, self.name) if candidate else None


class Urn:
    """All candidates of a space, in an order that the seed decides."""

    def __init__(self, space: JointSpace, seed: int) -> None:
        self._space = space
        self._seed = seed

    def draw(self, taken: Set[str]) -> Candidate | None:
        """A candidate that is not taken, the same one for the same ones taken, or ``None``."""
        if self._space.size <= SMALL:
            return next((c for sha256, c in self._shuffled if sha256 not in taken), None)
        # Of a large space few are taken, so a draw is hardly ever a repeat.
        rng = Random(f"{self._seed} {len(taken)}")  # noqa: S311 - a search, not a secret
        drawn = _first_free((self._space.sample(rng) for _ in range(_DRAWS)), taken)
        return drawn or _first_free((self._space.at(i) for i in range(self._space.size)), taken)

    @cached_property
    def _shuffled(self) -> list[tuple[str, Candidate]]:
        candidates = [self._space.at(index) for index in range(self._space.size)]
        Random(self._seed).shuffle(candidates)  # noqa: S311
        return [(candidate.sha256, candidate) for candidate in candidates]


def _first_free(candidates: Iterable[Candidate], taken: Set[str]) -> Candidate | None:
    return next((c for c in candidates if c.sha256 not in taken), None)
