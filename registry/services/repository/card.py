"""What a revision's README.md says, and its repetition in the MLModel's columns."""

from collections.abc import Mapping

from django.db import transaction

from registry.selectors.repository.contents import CONFIG_PATHS, config_of
from registry.selectors.repository.details import Details
from registry.selectors.repository.revision import revision_get
from registry.selectors.storage.blob import blob_open
from registry.services.repository.snapshot import Entry
from registry.tables import Label, MLModel, Tag
from registry.validation.card import Card, check_size, parse
from registry.validation.labels import LabelValue, labels_of
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


def describe(mlmodel: MLModel, card: Card, entries: Mapping[str, Entry]) -> None:
    """Repeat what ``card`` and the files say where lists are made; in the caller's transaction."""
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
    configs = {path: entries[path].blob for path in CONFIG_PATHS if path in entries}
    _label(mlmodel, labels_of(mlmodel.kind, card.values, entries, config_of(configs)))


def label_unlabelled() -> int:
    """Label what has no labels, as what was shared before there were any; how many now have."""
    done = 0
    for mlmodel in MLModel.objects.filter(labels=None).iterator():
        details = Details(mlmodel, revision_get(mlmodel))
        with transaction.atomic():
            _label(mlmodel, details.labels)
        done += bool(details.labels)
    return done


def _label(mlmodel: MLModel, drawn: list[LabelValue]) -> None:
    wanted = [(label.kind, label.value) for label in drawn]
    if wanted == list(mlmodel.labels.order_by("pk").values_list("kind", "value")):
        return
    mlmodel.labels.all().delete()
    Label.objects.bulk_create(
        [Label(mlmodel=mlmodel, kind=kind, value=value) for kind, value in wanted],
        ignore_conflicts=True,
    )
