"""Reads of requests for access."""

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, person, readable_repositories, require
from registry.states import RequestState, Role
from registry.tables import AccessRequest, MLModel, User


def requests_of(actor: Actor, mlmodel: MLModel, state: RequestState) -> QuerySet[AccessRequest]:
    """The requests in ``state``, with who asked, newest first; for those who may answer them.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    rows = mlmodel.access_requests.filter(state=state)
    return rows.select_related("user").order_by("-pk")


def requests_by(user: User) -> QuerySet[AccessRequest]:
    """What ``user`` has asked for and may still read about, newest first."""
    rows = user.access_requests.filter(mlmodel__in=readable_repositories(user))
    return rows.select_related("mlmodel__namespace").order_by("-pk")


def request_of(actor: Actor, mlmodel: MLModel) -> AccessRequest | None:
    """What ``actor`` has asked for themselves; ``None`` if nothing."""
    user = person(actor)
    return None if user is None else mlmodel.access_requests.filter(user=user).first()


def request_get(
    actor: Actor, mlmodel: MLModel, *, user: User | None = None, uuid: object = None
) -> AccessRequest:
    """The request of ``user``, or of that identifier, for someone who may answer it.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``request_not_found``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    rows = mlmodel.access_requests.select_related("user", "mlmodel__namespace")
    rows = rows.filter(uuid=parse_uuid(uuid)) if user is None else rows.filter(user=user)
    found = rows.first()
    if found is None:
        whose = user.username if user else str(uuid)[:40]
        raise NotFound("request_not_found", f"{whose!r} never asked for {mlmodel.full_name}.")
    return found
