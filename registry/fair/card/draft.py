"""A version as its record would describe it if its card gave other answers.

Only what is asked can differ (:mod:`registry.fair.card.answers`); all else stays as it was found.
"""

from dataclasses import replace
from typing import Any

from registry.fair.card.card import CardFacts
from registry.fair.description import Description

#: What answers change, called alike in :class:`CardFacts` and :class:`Description`.
_ASKED = (
    "title",
    "description",
    "body",
    "license",
    "creators",
    "task",
    "datasets",
    "intended_use",
)


def redescribed(description: Description, before: CardFacts, after: CardFacts) -> Description:
    """``description``, whose card says ``before``, with a card that says ``after``."""
    changes: dict[str, Any] = {
        name: getattr(after, name)
        for name in _ASKED
        if getattr(after, name) != getattr(before, name)
    }
    if "title" in changes and after.title is None:
        changes["title"] = description.name
    return replace(description, **changes)
