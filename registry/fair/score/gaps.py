"""What points are missing for, together for each key of a card: the way people mend it."""

from collections import defaultdict
from dataclasses import dataclass

from registry.fair.score.metric import Missing
from registry.fair.score.score import Score


@dataclass(frozen=True, slots=True)
class CardGap:
    """Everything that one key of the card would mend.

    Attributes:
        field: The key, or ``README.md`` for its text; ``None`` where no card helps.
        points: The most there is to gain by it.
        missing: Each reason once.
    """

    field: str | None
    points: float
    missing: tuple[Missing, ...]


def gaps(score: Score) -> list[CardGap]:
    """What the card can mend first, and of that what is worth most."""
    points: defaultdict[str | None, float] = defaultdict(float)
    reasons: defaultdict[str | None, dict[Missing, None]] = defaultdict(dict)
    for metric, outcome in score.results:
        for one in outcome.missing:
            reasons[one.field][one] = None
        for field in {one.field for one in outcome.missing}:
            points[field] += metric.points - outcome.points
    found = [CardGap(field, points[field], tuple(missing)) for field, missing in reasons.items()]
    return sorted(found, key=lambda gap: (gap.field is None, -gap.points))
