"""The candidates a model chooses among."""

from collections.abc import Sequence, Set
from random import Random

from workers.engine.space import plain
from workers.engine.strategies.base import Spaces
from workers.engine.strategies.joint import JointSpace
from workers.engine.strategies.peers import project
from workers.engine.strategies.random import SMALL, Urn
from workers.engine.types import Candidate, Trial

#: Draws from a large space, and best own trials whose surroundings are added to them.
_DRAWS, _BEST = 1024, 4


class Pool:
    """All candidates of a small space; of a large one some, and those around the best.

    Args:
        known: Candidates to have in any case.
    """

    def __init__(self, spaces: Spaces, seed: int, known: Sequence[Candidate]) -> None:
        self.spaces = spaces
        self._seed = seed
        self._small = sum(space.size for space in spaces.values()) <= SMALL
        if self._small:
            candidates = [Candidate(n, o) for n, space in spaces.items() for o in space.enumerate()]
        else:
            self._joint = JointSpace(spaces)
            self._urn = Urn(self._joint, seed)
            candidates = [candidate for candidate in known if self._joint.contains(candidate)]
        self._candidates = {candidate.sha256: candidate for candidate in candidates}

    def free(self, taken: Set[str], trials: Sequence[Trial]) -> dict[str, Candidate]:
        """Those not taken, by ``sha256``: the same for the same trials and the same taken.

        Args:
            trials: The search's own so far.

        Returns:
            Nothing only where nothing is left.
        """
        found = self._candidates
        if not self._small:
            rng = Random(f"{self._seed} {len(taken)}")  # noqa: S311 - a search, not a secret
            drawn = [self._joint.sample(rng) for _ in range(_DRAWS)]
            found = found | {c.sha256: c for c in [*drawn, *self._around(trials)]}
        free = {sha256: c for sha256, c in found.items() if sha256 not in taken}
        if free or self._small:
            return free
        last = self._urn.draw(taken)
        return {last.sha256: last} if last else {}

    def _around(self, trials: Sequence[Trial]) -> list[Candidate]:
        """Candidates that differ from one of the best in a single option."""
        timed = [t for t in trials if t.ratio is not None and t.candidate.backend in self.spaces]
        timed.sort(key=lambda trial: (trial.ratio, trial.number))
        near: list[Candidate] = []
        for trial in timed[:_BEST]:
            candidate = trial.candidate
            for name, parameter in self.spaces[candidate.backend].parameters.items():
                for value in plain(parameter).values:
                    changed = Candidate(candidate.backend, {**candidate.options, name: value})
                    member = project(changed, self.spaces)
                    if member is not None and member != candidate:
                        near.append(member)
        return near
