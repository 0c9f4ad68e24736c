"""The description of a version with other answers in its card. Only the fields that
:mod:`registry.fair.card.answers` asks for can differ."""

from dataclasses import replace
from typing import Any

from registry.fair.card.card import CardFacts
from registry.fair.description import Description

#: Fields that answers change, with the same names in :class:`CardFacts` and :class:`Description`.
_FIELDS = (
    "title", "description", "body", "license", "creators", "task", "datasets", "intended_use",
)  # fmt: skip


def redescribed(description: Description, before: CardFacts, after: CardFacts) -> Description:
    """``description`` with the card ``after`` in place of the card ``before``."""
    changes: dict[str, Any] = {
        name: getattr(after, name)
        for name in _FIELDS
        if getattr(after, name) != getattr(before, name)
    }
    if "title" in changes and after.title is None:
        changes["title"] = description.name
    return replace(description, **changes)
