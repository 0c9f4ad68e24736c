"""Gated files: requests for access, and their owners' answers."""

from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from hub.pages.addresses import address
from hub.pages.frame import repository_page
from hub.pages.views import act, signed_in
from registry.errors import Invalid
from registry.selectors.people.account import user_get
from registry.selectors.repository.gate import request_get
from registry.services.repository.gate import access_grant, access_handle, access_request
from registry.states import Gate, RequestState
from registry.tables import MLModel


@repository_page
@require_POST
def ask(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Request access to the files."""
    user, message = signed_in(request), request.POST.get("message", "").strip()
    is_automatic = mlmodel.gate == Gate.AUTO
    return act(
        request,
        address(mlmodel, "card"),
        lambda: access_request(actor=user, mlmodel=mlmodel, message=message),
        done="The files are open to you."
        if is_automatic
        else "Your request was sent to its owners.",
    )


@repository_page
@require_POST
def answer(request: HttpRequest, mlmodel: MLModel, uuid: UUID) -> HttpResponseBase:
    """Accept or reject a request."""
    row = request_get(request.user, mlmodel, uuid=uuid)
    reason = request.POST.get("reason", "").strip()

    def handle() -> None:
        state = _state_in(request)
        access_handle(actor=request.user, request=row, state=state, reason=reason)

    back = f"{address(mlmodel, 'settings')}#access"
    return act(request, back, handle, done=f"You answered {row.user.username}.")


@repository_page
@require_POST
def grant(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Grant access without a request."""
    username = request.POST.get("username", "").strip()
    return act(
        request,
        f"{address(mlmodel, 'settings')}#access",
        lambda: access_grant(actor=request.user, mlmodel=mlmodel, user=user_get(username)),
        done=f"The files are open to {username}.",
    )


def _state_in(request: HttpRequest) -> RequestState:
    try:
        return RequestState(request.POST.get("state", ""))
    except ValueError:
        raise Invalid("invalid_request", "A request is either accepted or rejected.") from None
