"""Reads of likes."""

from django.db.models import QuerySet

from registry.selectors.access import Actor, person, readable_repositories
from registry.tables import Like, MLModel, User


def likers_of(mlmodel: MLModel) -> QuerySet[Like]:
    """Who likes ``mlmodel``, which the asker may read, newest first."""
    return mlmodel.liked_by.select_related("user").order_by("-pk")


def likes_of(actor: Actor, user: User) -> QuerySet[Like]:
    """What ``user`` likes, as far as ``actor`` may read it, newest first."""
    rows = user.likes.filter(mlmodel__in=readable_repositories(actor))
    return rows.select_related("mlmodel__namespace").order_by("-pk")


def is_liked(actor: Actor, mlmodel: MLModel) -> bool:
    """Whether ``actor`` likes ``mlmodel``."""
    user = person(actor)
    return user is not None and mlmodel.liked_by.filter(user=user).exists()
