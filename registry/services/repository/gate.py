"""Requests for the files behind a gate, and answers to them.

A request is pending, accepted or rejected; actors with the role ``write`` may change its state at
any time. Each transition is one filtered UPDATE, whose row count decides concurrent ones.
"""

from django.db import IntegrityError, transaction
from django.utils import timezone

from registry.errors import Conflict, Invalid
from registry.selectors.access import Actor, person, require, require_person
from registry.selectors.repository.gate import fetchable_repositories
from registry.services.audit import audit
from registry.states import Gate, RequestState, Role, Scope
from registry.tables import AccessRequest, MLModel, User
from registry.validation.texts import check_text, unseen

_MAX_MESSAGE = 2000
_MAX_REASON = 200


def access_request(*, actor: User, mlmodel: MLModel, message: str = "") -> AccessRequest:
    """Request the files of ``mlmodel``, which ``actor`` may read.

    A gate ``auto`` accepts the request at once, unless an earlier one was rejected. Raises
    ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require_person`;
    ``Invalid`` ``invalid_request`` without a gate, or if the actor may fetch the files already;
    ``Conflict`` ``request_handled`` if there is a request already.
    """
    require_person(actor, Scope.WRITE, mlmodel.namespace)
    _require_gate(mlmodel)
    _check_message(message)
    if fetchable_repositories(actor).filter(pk=mlmodel.pk).exists():
        raise _has_access(actor, mlmodel)
    accepted = mlmodel.gate == Gate.AUTO
    state = RequestState.ACCEPTED if accepted else RequestState.PENDING
    try:
        with transaction.atomic():
            request = _request(actor, mlmodel, message, state)
            _audit(actor, request, "access.request", {"state": state.value})
    except IntegrityError:
        raise _repeated(mlmodel, "was sent before") from None
    return request


def access_handle(
    *, actor: Actor, request: AccessRequest, state: RequestState, reason: str = ""
) -> AccessRequest:
    """Set the state of a request: accepted, rejected or pending.

    ``reason`` is that of a rejection, shown to the person. Raises ``Unauthenticated`` or
    ``Forbidden`` as :func:`registry.selectors.access.require`; ``Invalid`` ``invalid_request``
    without a gate; ``Conflict`` ``request_handled`` if it is in that state already.
    """
    mlmodel = request.mlmodel
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    _require_gate(mlmodel)
    check_text(reason, field="rejectionReason", most=_MAX_REASON)
    with transaction.atomic():
        rows = AccessRequest.objects.filter(pk=request.pk).exclude(state=state)
        changed = rows.update(
            state=state,
            rejection_reason=reason if state == RequestState.REJECTED else "",
            handled_by=person(actor),
            handled_at=timezone.now(),
        )
        if not changed:
            raise Conflict(
                "request_handled",
                f"The request of {request.user.username} is {state.value} already.",
            )
        _audit(actor, request, "access.handle", {"state": state.value})
    request.refresh_from_db(fields=["state", "rejection_reason", "handled_by", "handled_at"])
    return request


def access_grant(*, actor: Actor, mlmodel: MLModel, user: User) -> AccessRequest:
    """Grant ``user`` access, with or without a request of theirs.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` without a gate, or if ``user`` may fetch the files already.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    _require_gate(mlmodel)
    # As the person, without any token.
    if fetchable_repositories(User.objects.get(pk=user.pk)).filter(pk=mlmodel.pk).exists():
        raise _has_access(user, mlmodel)
    with transaction.atomic():
        request, _ = AccessRequest.objects.update_or_create(
            mlmodel=mlmodel,
            user=user,
            defaults={
                "state": RequestState.ACCEPTED,
                "rejection_reason": "",
                "handled_by": person(actor),
                "handled_at": timezone.now(),
            },
        )
        _audit(actor, request, "access.grant", {})
    return request


def _request(user: User, mlmodel: MLModel, message: str, state: RequestState) -> AccessRequest:
    """A new request, or the pending one that the gate now accepts."""
    previous = AccessRequest.objects.filter(mlmodel=mlmodel, user=user).first()
    if previous is None:
        return AccessRequest.objects.create(
            mlmodel=mlmodel, user=user, message=message, state=state
        )
    if previous.state == RequestState.REJECTED:
        raise _repeated(mlmodel, "was rejected")
    pending = AccessRequest.objects.filter(pk=previous.pk, state=RequestState.PENDING)
    if state == RequestState.PENDING or not pending.update(state=state):
        raise _repeated(mlmodel, "awaits an answer")
    previous.state = state
    return previous


def _require_gate(mlmodel: MLModel) -> None:
    if mlmodel.gate == Gate.OPEN:
        raise Invalid(
            "invalid_request",
            f"{mlmodel.full_name} is not gated.",
            "Everybody who may read it may fetch its files.",
        )


def _check_message(message: str) -> None:
    if len(message) > _MAX_MESSAGE or unseen(message, but="\r\n\t"):
        fault = f"is longer than {_MAX_MESSAGE} characters or holds a control character"
        raise Invalid("invalid_request", f"The message {fault}.", fields={"message": fault})


def _has_access(user: User, mlmodel: MLModel) -> Invalid:
    return Invalid(
        "invalid_request", f"{user.username} may fetch the files of {mlmodel.full_name} already."
    )


def _repeated(mlmodel: MLModel, outcome: str) -> Conflict:
    return Conflict(
        "request_handled",
        f"Your request for {mlmodel.full_name} {outcome}.",
        "Its owners decide; ask them.",
    )


def _audit(actor: Actor, request: AccessRequest, action: str, detail: dict[str, str]) -> None:
    audit(
        actor,
        action,
        f"{request.mlmodel.full_name}:{request.user.username}",
        namespace=request.mlmodel.namespace.name,
        detail=detail,
    )
