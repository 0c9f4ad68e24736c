"""What harvesters are to be told beside what is there: what went out of sight."""

from django.utils import timezone

from registry.states import IdentifierKind, Visibility
from registry.tables import Identifier, MLModel


def harvest_note(mlmodel: MLModel) -> None:
    """Note that ``mlmodel`` is being hidden, or shown again.

    Call it in the transaction that writes ``mlmodel.visibility``, before it is written. What was
    never public leaves no trace.
    """
    concept = Identifier.objects.filter(mlmodel=mlmodel, kind=IdentifierKind.CONCEPT)
    if mlmodel.visibility == Visibility.PUBLIC:
        concept.update(hidden_at=None)
    elif MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PUBLIC).exists():
        concept.update(hidden_at=timezone.now())
