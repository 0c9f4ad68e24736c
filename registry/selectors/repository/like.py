"""Reads of likes."""

from django.db.models import QuerySet

from registry.selectors.access import Actor, person, readable_repositories
from registry.tables import Like, MLModel, User


def likers_of(mlmodel: MLModel) -> QuerySet[Like]:
    """Likes of ``mlmodel``, which the actor may read, with their users, newest first."""
    return mlmodel.liked_by.select_related("user").order_by("-pk")


def likes_of(actor: Actor, user: User) -> QuerySet[Like]:
    """Likes of ``user`` for repositories that ``actor`` may read, newest first."""
    rows = user.likes.filter(mlmodel__in=readable_repositories(actor))
    return rows.select_related("mlmodel__namespace").order_by("-pk")


def is_liked(actor: Actor, mlmodel: MLModel) -> bool:
    """Whether ``actor`` likes ``mlmodel``."""
    user = person(actor)
    return user is not None and mlmodel.liked_by.filter(user=user).exists()
