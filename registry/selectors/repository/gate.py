"""Gates: permission to fetch the files of a gated repository, and requests for access.

Files behind a gate are for members of the namespace and for people whose request was accepted. The
card, configuration files and the license stay open; file names and the card are visible to all
readers of the repository.
"""

from django.db.models import Q, QuerySet

from registry.errors import Forbidden, NotFound, Unauthenticated
from registry.fair.files import is_open
from registry.ids import parse_uuid
from registry.selectors.access import Actor, memberships, person, readable_repositories, require
from registry.selectors.fair.hub import repository_address
from registry.states import Gate, RequestState, Role
from registry.tables import AccessRequest, MLModel, User


def fetchable_repositories(actor: Actor) -> QuerySet[MLModel]:
    """The models and data sets whose files ``actor`` may fetch."""
    readable = readable_repositories(actor)
    if actor is None:
        return readable
    allowed = Q(gate=Gate.OPEN)
    user = person(actor)
    if user is not None:
        allowed |= Q(namespace__in=memberships(user).values("namespace"))
        allowed |= Q(pk__in=_accepted(user).values("mlmodel"))
    return readable.filter(allowed)


def may_fetch(actor: Actor, mlmodel: MLModel) -> bool:
    """Whether ``actor`` may fetch all files of ``mlmodel``, which they may read."""
    return mlmodel.gate == Gate.OPEN or fetchable_repositories(actor).filter(pk=mlmodel.pk).exists()


def require_fetch(actor: Actor, mlmodel: MLModel) -> None:
    """Refuse unless ``actor`` may fetch all files of ``mlmodel``, which they may read.

    Raises ``Unauthenticated``, ``Forbidden``: ``access_gated``.
    """
    if may_fetch(actor, mlmodel):
        return
    user = person(actor)
    if user is None:
        raise Unauthenticated(
            "access_gated",
            f"{_restricted(mlmodel)}.",
            "You must have access to it and be authenticated to access it. Please log in.",
        )
    request = AccessRequest.objects.filter(mlmodel=mlmodel, user=user).first()
    if request is None:
        raise Forbidden(
            "access_gated",
            f"{_restricted(mlmodel)} and you are not in the authorized list.",
            f"Visit {repository_address(mlmodel).concept} to ask for access.",
        )
    raise Forbidden("access_gated", *_refusal_of(request, mlmodel))


def require_fetch_file(actor: Actor, mlmodel: MLModel, path: str) -> None:
    """Refuse unless ``actor`` may fetch the file at ``path`` of ``mlmodel``, which they may read.

    A few files stay open whatever the gate: see :func:`registry.fair.files.is_open`. Raises
    ``Unauthenticated``, ``Forbidden``: ``access_gated``.
    """
    if not is_open(path):
        require_fetch(actor, mlmodel)


def requests_of(actor: Actor, mlmodel: MLModel, state: RequestState) -> QuerySet[AccessRequest]:
    """The requests in ``state`` with their users, newest first; for actors who may answer them.

    Raises the errors of :func:`registry.selectors.access.require`.
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


def _restricted(mlmodel: MLModel) -> str:
    """The start of the Hugging Face Hub's message, which its users search for."""
    return f"Access to {mlmodel.kind} {mlmodel.full_name} is restricted"


def _refusal_of(request: AccessRequest, mlmodel: MLModel) -> tuple[str, str]:
    """Detail and hint for a person who has asked."""
    start = f"Your request to access {mlmodel.kind} {mlmodel.full_name}"
    match request.state:
        case RequestState.PENDING:
            return f"{start} is awaiting a review from the repo authors.", ""
        case RequestState.REJECTED:
            reason = request.rejection_reason
            return f"{start} has been rejected by the repo's authors.", reason
    hint = "Use a token that is not limited to another namespace."
    return f"{_restricted(mlmodel)} for this token.", hint


def _accepted(user: User) -> QuerySet[AccessRequest]:
    """The accepted requests of ``user`` that their token covers."""
    rows = AccessRequest.objects.filter(user=user, state=RequestState.ACCEPTED)
    if user.token is not None and user.token.namespace_id is not None:
        rows = rows.filter(mlmodel__namespace=user.token.namespace_id)
    return rows
