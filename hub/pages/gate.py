"""The gate before a repository's files: asking to be let through, and answering."""

from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from hub.pages.addresses import address
from hub.pages.asker import signed_in
from hub.pages.errors import act
from hub.pages.frame import repository_page
from registry.errors import Invalid
from registry.selectors.people.account import user_get
from registry.selectors.repository.gate import request_get
from registry.services.repository.gate import access_grant, access_handle, access_request
from registry.states import Gate, RequestState
from registry.tables import MLModel


@repository_page
@require_POST
def ask(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Ask for the files."""
    user, message = signed_in(request), request.POST.get("message", "").strip()
    at_once = mlmodel.gate == Gate.AUTO
    return act(
        request,
        address(mlmodel, "card"),
        lambda: access_request(actor=user, mlmodel=mlmodel, message=message),
        done="The files are open to you." if at_once else "Your request was sent to its owners.",
    )


@repository_page
@require_POST
def answer(request: HttpRequest, mlmodel: MLModel, uuid: UUID) -> HttpResponseBase:
    """Accept or reject somebody's request."""
    asked = request_get(request.user, mlmodel, uuid=uuid)
    reason = request.POST.get("reason", "").strip()

    def handle() -> None:
        state = _state_in(request)
        access_handle(actor=request.user, request=asked, state=state, reason=reason)

    back = f"{address(mlmodel, 'settings')}#access"
    return act(request, back, handle, done=f"You answered {asked.user.username}.")


@repository_page
@require_POST
def grant(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Let somebody in who did not ask."""
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
        raise Invalid("invalid_request", "A request is accepted or rejected.") from None
