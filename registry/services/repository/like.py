"""Likes: one row per person, and their count in the MLModel."""

from django.db import transaction
from django.db.models import F

from registry.selectors.access import require_person
from registry.services.audit import audit
from registry.states import Scope
from registry.tables import Like, MLModel, User


def like_add(*, actor: User, mlmodel: MLModel) -> None:
    """Add a like of ``actor`` for ``mlmodel``, which they may read. Idempotent.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_person`.
    """
    require_person(actor, Scope.WRITE, mlmodel.namespace)
    with transaction.atomic():
        _, created = Like.objects.get_or_create(mlmodel=mlmodel, user=actor)
        if created:
            _count(actor, mlmodel, "like.add", 1)


def like_remove(*, actor: User, mlmodel: MLModel) -> None:
    """Remove the like of ``actor``. Idempotent.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_person`.
    """
    require_person(actor, Scope.WRITE, mlmodel.namespace)
    with transaction.atomic():
        deleted, _ = Like.objects.filter(mlmodel=mlmodel, user=actor).delete()
        if deleted:
            _count(actor, mlmodel, "like.remove", -1)


def _count(actor: User, mlmodel: MLModel, action: str, difference: int) -> None:
    MLModel.objects.filter(pk=mlmodel.pk).update(likes=F("likes") + difference)
    audit(actor, action, mlmodel.full_name, namespace=mlmodel.namespace.name)
