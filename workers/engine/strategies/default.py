"""A fixed list of candidates: each backend's default, or the best of earlier searches."""

from collections.abc import Sequence, Set

from hpcfair.precisions import TOLERANCES
from workers.engine.strategies.base import Proposal, Strategy
from workers.engine.trials import Prior
from workers.engine.types import Candidate


class FixedList(Strategy):
    """Proposes the candidates of a list, in order. ``proposals`` are candidates with their expected
    ratios, ``None`` if unknown; ``proposed_by`` names the list in trials."""

    def __init__(
        self, proposals: Sequence[tuple[Candidate, float | None]], proposed_by: str
    ) -> None:
        super().__init__()
        self._proposals = [
            Proposal(candidate, proposed_by, predicted) for candidate, predicted in proposals
        ]

    def propose(self, excluded: Set[str]) -> Proposal | None:
        return next((p for p in self._proposals if p.candidate.sha256 not in excluded), None)


def best_priors(history: Sequence[Prior], count: int) -> list[tuple[Candidate, float | None]]:
    """The ``count`` best candidates of each tolerance class that are faster than the baseline,
    strictest class first."""
    return [
        (prior.candidate, prior.ratio)
        for tolerance in TOLERANCES
        for prior in sorted(
            (p for p in history if p.tolerance == tolerance and p.ratio < 1), key=lambda p: p.ratio
        )[:count]
    ]
