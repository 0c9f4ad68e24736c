"""Deletion marks for harvesters: repositories that were made private."""

from django.utils import timezone

from registry.states import IdentifierKind, Visibility
from registry.tables import Identifier, MLModel


def harvest_note(mlmodel: MLModel) -> None:
    """Mark or unmark ``mlmodel`` as hidden, as its new ``visibility`` demands.

    Call it in the transaction that writes ``mlmodel.visibility``, before that write. Repositories
    that were never public are not marked.
    """
    concept = Identifier.objects.filter(mlmodel=mlmodel, kind=IdentifierKind.CONCEPT)
    if mlmodel.visibility == Visibility.PUBLIC:
        concept.update(hidden_at=None)
    elif MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists():
        concept.update(hidden_at=timezone.now())
