"""What a revision's README.md says, and its repetition in the MLModel's columns."""

from collections.abc import Mapping

from registry.selectors.blob import blob_open
from registry.services.snapshot import Entry
from registry.tables import MLModel, Tag
from registry.validation.card import Card, check_size, parse
from registry.validation.license import license_of

README = "README.md"


def card_of(entries: Mapping[str, Entry]) -> Card:
    """The card among a revision's files; an empty one where there is none.

    Raises:
        Invalid: ``invalid_card``.
    """
    entry = entries.get(README)
    if entry is None:
        return Card()
    check_size(entry.blob.size_bytes)
    with blob_open(entry.blob) as stream:
        return parse(stream.read())


def describe(mlmodel: MLModel, card: Card) -> None:
    """Repeat ``card`` in the columns lists are made from; inside the caller's transaction."""
    mlmodel.title = card.title
    mlmodel.description = card.description
    mlmodel.license = license_of(card.values)
    mlmodel.task = card.task
    mlmodel.library = card.library
    mlmodel.save(update_fields=["title", "description", "license", "task", "library"])
    mlmodel.tags.exclude(value__in=card.tags).delete()
    Tag.objects.bulk_create(
        [Tag(mlmodel=mlmodel, value=value) for value in card.tags], ignore_conflicts=True
    )
