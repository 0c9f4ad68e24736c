"""Descriptions of versions, made from their rows, files and cards.

See :class:`registry.fair.description.Description`. Facts that the hub computed override the card;
unknown facts are absent. The stages run in one direction and hand on frozen data::

    inputs       identifiers, metadata, files, measurements, builds, history, agents
    description  lineage, activities, hub_activities, originals
    cache
"""

from registry.selectors.fair.description.description import (
    CARD_FIELDS,
    describe,
    describe_many,
    describe_revisions,
)
from registry.selectors.fair.description.lineage import describe_datasets

__all__ = [
    "CARD_FIELDS",
    "describe",
    "describe_datasets",
    "describe_many",
    "describe_revisions",
]
