"""Random search, the baseline of all other strategies."""

from collections.abc import Iterable, Set
from functools import cached_property
from random import Random

from workers.engine.strategies.base import Proposal, Spaces, Strategy
from workers.engine.strategies.joint import JointSpace
from workers.engine.types import Candidate

#: Spaces up to this size are shuffled as a whole.
SMALL = 4096
#: Draws from a larger one before its candidates are enumerated.
_DRAWS = 64


class RandomSearch(Strategy):
    """Draws without replacement, each configuration of each backend with the same probability.

    With ``k`` good configurations among ``N``, the first takes ``(N + 1) / (k + 1)`` draws on
    average.
    """

    name = "random"

    def __init__(self, spaces: Spaces, seed: int) -> None:
        super().__init__()
        self._sampler = SpaceSampler(JointSpace(spaces), seed)

    def propose(self, excluded: Set[str]) -> Proposal | None:
        candidate = self._sampler.draw(excluded)
        return Proposal(candidate, self.name) if candidate else None


class SpaceSampler:
    """Draws candidates of a space without replacement, in an order given by the seed."""

    def __init__(self, space: JointSpace, seed: int) -> None:
        self._space = space
        self._seed = seed

    def draw(self, excluded: Set[str]) -> Candidate | None:
        """A candidate that is not excluded, or ``None``; equal for equal arguments."""
        if self._space.size <= SMALL:
            return next((c for sha256, c in self._shuffled if sha256 not in excluded), None)
        # Few candidates of a large space are excluded, so that a draw is rarely one of them.
        rng = Random(f"{self._seed} {len(excluded)}")  # noqa: S311 - a search, not a secret
        drawn = _first_not_in((self._space.sample(rng) for _ in range(_DRAWS)), excluded)
        return drawn or _first_not_in(
            (self._space.at(i) for i in range(self._space.size)), excluded
        )

    @cached_property
    def _shuffled(self) -> list[tuple[str, Candidate]]:
        candidates = [self._space.at(index) for index in range(self._space.size)]
        Random(self._seed).shuffle(candidates)  # noqa: S311
        return [(candidate.sha256, candidate) for candidate in candidates]


def _first_not_in(candidates: Iterable[Candidate], excluded: Set[str]) -> Candidate | None:
    return next((c for c in candidates if c.sha256 not in excluded), None)
