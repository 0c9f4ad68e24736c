"""Heads of default branches, for lists of models."""

from collections.abc import Iterable

from django.db.models import F

from registry.states import RefKind
from registry.tables import MLModel, Ref, Revision


def heads_of(mlmodels: Iterable[MLModel]) -> dict[int, Revision]:
    """Key of an MLModel to the head of its default branch. One query."""
    refs = Ref.objects.filter(
        mlmodel__in=[mlmodel.pk for mlmodel in mlmodels],
        kind=RefKind.BRANCH,
        name=F("mlmodel__default_branch"),
    )
    return {ref.mlmodel_id: ref.revision for ref in refs.select_related("revision")}
