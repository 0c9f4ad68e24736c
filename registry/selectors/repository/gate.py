"""Reads of requests for access."""

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, person, readable_repositories, require
from registry.states import RequestState, Role
from registry.tables import AccessRequest, MLModel, User


def requests_of(actor: Actor, mlmodel: MLModel, state: RequestState) -> QuerySet[AccessRequest]:
    """The requests in ``state`` with their users, newest first; for actors who may answer them.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    rows = mlmodel.access_requests.filter(state=state)
    return rows.select_related("user").order_by("-pk")


def requests_by(user: User) -> QuerySet[AccessRequest]:
    """The requests of ``user`` about repositories that they may still read, newest first."""
    rows = user.access_requests.filter(mlmodel__in=readable_repositories(user))
    return rows.select_related("mlmodel__namespace").order_by("-pk")


def request_of(actor: Actor, mlmodel: MLModel) -> AccessRequest | None:
    """The request of ``actor`` for ``mlmodel``, or ``None``."""
    user = person(actor)
    return None if user is None else mlmodel.access_requests.filter(user=user).first()


def request_get(
    actor: Actor, mlmodel: MLModel, *, user: User | None = None, uuid: object = None
) -> AccessRequest:
    """The request of ``user``, or the one with that ``uuid``, for an actor who may answer it.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``request_not_found``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    rows = mlmodel.access_requests.select_related("user", "mlmodel__namespace")
    rows = rows.filter(uuid=parse_uuid(uuid)) if user is None else rows.filter(user=user)
    request = rows.first()
    if request is None:
        whose = user.username if user else str(uuid)[:40]
        raise NotFound("request_not_found", f"{whose!r} never asked for {mlmodel.full_name}.")
    return request
