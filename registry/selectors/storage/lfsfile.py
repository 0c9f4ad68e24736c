"""Reads of the large files an MLModel's revisions hold, to find what takes the room."""

from django.db.models import F, Min, OuterRef, QuerySet, Subquery

from registry.selectors.access import Actor, require
from registry.states import RefKind, Role
from registry.tables import File, MLModel, Ref


def lfsfiles_of(actor: Actor, mlmodel: MLModel) -> QuerySet[File]:
    """One row per large blob any revision of ``mlmodel`` holds: where it first appeared.

    ``branch`` is a branch whose newest revision still holds it, or ``None``.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    put = File.objects.filter(
        revision__mlmodel=mlmodel, is_lfs=True, changed_in=F("revision")
    ).order_by()
    first = put.values("blob").annotate(first=Min("pk")).values("first")
    holding = Ref.objects.filter(
        mlmodel=mlmodel, kind=RefKind.BRANCH, revision__files__blob=OuterRef("blob")
    )
    return (
        File.objects.filter(pk__in=first)
        .annotate(branch=Subquery(holding.order_by("name").values("name")[:1]))
        .select_related("blob", "revision")
        .order_by("-pk")
    )
