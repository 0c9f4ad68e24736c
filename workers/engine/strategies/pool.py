"""The candidates that a model selects from."""

from collections.abc import Sequence, Set
from random import Random

from workers.engine.space import plain
from workers.engine.strategies.base import Spaces
from workers.engine.strategies.joint import JointSpace
from workers.engine.strategies.peers import project
from workers.engine.strategies.random import SMALL, SpaceSampler
from workers.engine.trials import Trial
from workers.engine.types import Candidate

#: Draws from a large space, and best own trials whose neighbours are added.
_DRAWS, _BEST = 1024, 4


class Pool:
    """All candidates of a small space; a sample of a large one, and the neighbours of the best.
    Candidates of ``included`` are always in it."""

    def __init__(self, spaces: Spaces, seed: int, included: Sequence[Candidate]) -> None:
        self.spaces = spaces
        self._seed = seed
        self._small = sum(space.size for space in spaces.values()) <= SMALL
        if self._small:
            candidates = [Candidate(n, o) for n, space in spaces.items() for o in space.enumerate()]
        else:
            self._joint = JointSpace(spaces)
            self._sampler = SpaceSampler(self._joint, seed)
            candidates = [candidate for candidate in included if self._joint.contains(candidate)]
        self._candidates = {candidate.sha256: candidate for candidate in candidates}

    def untried(self, excluded: Set[str], trials: Sequence[Trial]) -> dict[str, Candidate]:
        """Candidates that are not excluded, by ``sha256``; empty only if nothing is left.
        ``trials`` are the search's own so far. Equal arguments give equal candidates."""
        candidates = self._candidates
        if not self._small:
            rng = Random(f"{self._seed} {len(excluded)}")  # noqa: S311 - a search, not a secret
            drawn = [self._joint.sample(rng) for _ in range(_DRAWS)]
            candidates = candidates | {c.sha256: c for c in [*drawn, *self._neighbours(trials)]}
        untried = {sha256: c for sha256, c in candidates.items() if sha256 not in excluded}
        if untried or self._small:
            return untried
        last = self._sampler.draw(excluded)
        return {last.sha256: last} if last else {}

    def _neighbours(self, trials: Sequence[Trial]) -> list[Candidate]:
        """Candidates that differ from one of the best own trials in a single option."""
        timed = [t for t in trials if t.ratio is not None and t.candidate.backend in self.spaces]
        timed.sort(key=lambda trial: (trial.ratio, trial.number))
        neighbours: list[Candidate] = []
        for trial in timed[:_BEST]:
            candidate = trial.candidate
            for name, parameter in self.spaces[candidate.backend].parameters.items():
                for value in plain(parameter).values:
                    changed = Candidate(candidate.backend, {**candidate.options, name: value})
                    member = project(changed, self.spaces)
                    if member is not None and member != candidate:
                        neighbours.append(member)
        return neighbours
