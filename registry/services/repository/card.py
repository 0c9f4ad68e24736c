"""Columns, tags and labels of an MLModel that repeat its files, for lists and searches."""

from django.db import transaction

from registry.selectors.repository.contents import config_of, marking_paths
from registry.selectors.repository.details import Details
from registry.selectors.repository.revision import revision_get
from registry.selectors.repository.snapshot import Snapshot
from registry.states import RepositoryKind
from registry.tables import Label, MLModel, Tag
from registry.validation.architectures import loader_of
from registry.validation.labels import LabelValue, labels_of
from registry.validation.license import license_of

_COLUMNS = ("title", "description", "license", "task", "library", "parameters")


def card_apply(mlmodel: MLModel, snapshot: Snapshot, paths: list[str]) -> None:
    """Update these columns from the default branch's files, in the caller's transaction.

    ``snapshot`` is that of the head, ``paths`` are its
    :func:`registry.selectors.repository.contents.marking_paths`.
    """
    card, config = snapshot.card, config_of(snapshot.configs)
    _set_labels(mlmodel, labels_of(mlmodel.kind, card.values, paths, config))
    mlmodel.title = card.title
    mlmodel.description = card.description
    mlmodel.license = license_of(card.values)
    mlmodel.task = card.task
    if not card.task and mlmodel.kind == RepositoryKind.MODEL:
        mlmodel.task = loader_of(config)[1]
    mlmodel.library = card.library
    mlmodel.parameters = snapshot.parameters
    mlmodel.save(update_fields=list(_COLUMNS))
    mlmodel.tags.exclude(value__in=card.tags).delete()
    Tag.objects.bulk_create(
        [Tag(mlmodel=mlmodel, value=value) for value in card.tags], ignore_conflicts=True
    )


def label_unlabelled() -> int:
    """Label MLModels that are older than labels; returns the number that now have some."""
    labelled = 0
    for mlmodel in MLModel.objects.filter(labels=None).iterator():
        details = Details(mlmodel, revision_get(mlmodel))
        with transaction.atomic():
            _set_labels(mlmodel, details.labels)
        labelled += bool(details.labels)
    return labelled


def count_uncounted() -> int:
    """Count the parameters of MLModels that are older than the column; returns how many got one."""
    counted = 0
    for mlmodel in MLModel.objects.filter(parameters=None).iterator():
        if counts := Details(mlmodel, revision_get(mlmodel)).parameters:
            MLModel.objects.filter(pk=mlmodel.pk).update(parameters=sum(counts.values()))
            counted += 1
    return counted


def tasks_from_architectures() -> int:
    """Give models without a task that of the architecture in their config.json, and label them by
    it; returns how many got one."""
    changed = 0
    for mlmodel in MLModel.objects.filter(kind=RepositoryKind.MODEL, task="").iterator():
        details = Details(mlmodel, revision_get(mlmodel))
        if task := loader_of(details.config)[1]:
            paths = marking_paths(details.revision, mlmodel.kind)
            labels = labels_of(mlmodel.kind, details.revision.card, paths, details.config)
            with transaction.atomic():
                MLModel.objects.filter(pk=mlmodel.pk).update(task=task)
                _set_labels(mlmodel, labels)
            changed += 1
    return changed


def _set_labels(mlmodel: MLModel, labels: list[LabelValue]) -> None:
    values = [(label.kind, label.value) for label in labels]
    if values == list(mlmodel.labels.order_by("pk").values_list("kind", "value")):
        return
    mlmodel.labels.all().delete()
    Label.objects.bulk_create(
        [Label(mlmodel=mlmodel, kind=kind, value=value) for kind, value in values],
        ignore_conflicts=True,
    )
