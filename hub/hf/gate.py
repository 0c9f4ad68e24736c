"""Requests for access to gated files. Owners see usernames, but no e-mail addresses."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of, signed_in
from hub.hf.address import page_answer
from hub.hf.errors import BadRequest, refuse
from hub.hf.shapes import moment
from hub.hf.views import json_answer, json_body, text_in
from registry.errors import Conflict
from registry.selectors.people.account import user_get
from registry.selectors.repository.gate import request_get, requests_of
from registry.services.repository.gate import access_grant, access_handle, access_request
from registry.states import RequestState
from registry.tables import AccessRequest, MLModel


def ask(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST /{id}/ask-access``: a form or JSON whose ``message`` goes to the owners."""
    is_json = (request.content_type or "") == "application/json"
    fields: Mapping[str, Any] = json_body(request) if is_json else request.POST.dict()
    row = access_request(
        actor=signed_in(request), mlmodel=mlmodel, message=text_in(fields, "message", "")
    )
    return json_answer({"requestId": str(row.uuid), "status": row.state})


def requests(request: HttpRequest, mlmodel: MLModel, state: str) -> HttpResponse:
    """``GET /api/models/{id}/user-access-request/{pending,accepted,rejected}``."""
    rows = requests_of(actor_of(request), mlmodel, RequestState(state))
    return page_answer(request, rows, _shape)


def handle(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../user-access-request/handle``; ``pending`` cancels a decision."""
    actor, body = signed_in(request), json_body(request)
    try:
        state = RequestState(text_in(body, "status"))
    except ValueError:
        raise BadRequest(f"'status' must be one of {', '.join(RequestState.values)}.") from None
    row = (
        request_get(actor, mlmodel, uuid=text_in(body, "requestId"))
        if body.get("user") is None
        else request_get(actor, mlmodel, user=user_get(text_in(body, "user")))
    )
    reason = text_in(body, "rejectionReason", "")
    try:
        handled = access_handle(actor=actor, request=row, state=state, reason=reason)
    except Conflict as conflict:
        # Clients expect 404 for a request that already has this state.
        return refuse(404, str(conflict))
    return json_answer(_shape(handled))


def grant(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST .../user-access-request/grant``."""
    actor, body = signed_in(request), json_body(request)
    user = user_get(text_in(body, "user"))
    return json_answer(_shape(access_grant(actor=actor, mlmodel=mlmodel, user=user)))


def _shape(row: AccessRequest) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "requestId": str(row.uuid),
        "user": {"user": row.user.username, "fullname": row.user.full_name or row.user.username},
        "status": row.state,
        "timestamp": moment(row.created_at),
    }
    if row.message:
        shape["fields"] = {"message": row.message}
    return shape
