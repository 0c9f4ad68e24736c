"""Repositories: create, duplicate, delete, move, change settings, check permissions."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of, signed_in
from hub.hf.errors import BadRequest, refuse
from hub.hf.views import absolute, flag_in, json_answer, json_body, text_in, web_path
from registry.errors import Conflict, Forbidden, NotFound
from registry.selectors.access import require
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.mlmodel import repository_get
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import (
    mlmodel_create,
    mlmodel_delete,
    mlmodel_move,
    mlmodel_update,
)
from registry.states import Gate, RepositoryKind, Role, Visibility
from registry.tables import MLModel, User

_GATES: dict[Any, Gate] = {"auto": Gate.AUTO, "manual": Gate.MANUAL, False: Gate.OPEN}


def create(request: HttpRequest) -> HttpResponse:
    """``POST /api/repos/create``; a name in use is answered by 409 with its address."""
    actor, body = signed_in(request), json_body(request)
    kind, full_name = _kind_in(body), _name_in(body, actor)
    visibility = _visibility_in(body)

    def make(namespace: str, name: str) -> MLModel:
        return mlmodel_create(
            actor=actor, namespace=namespace, name=name, visibility=visibility, kind=kind
        )

    return _created(actor, kind, full_name, make)


def duplicate(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST /api/models/{id}/duplicate``: a copy under another name, with the same commit ids."""
    actor, body = signed_in(request), json_body(request)
    full_name, visibility = text_in(body, "repository"), _visibility_in(body)

    def make(namespace: str, name: str) -> MLModel:
        return fork(
            actor=actor, source=mlmodel, namespace=namespace, name=name, visibility=visibility
        )

    return _created(actor, RepositoryKind(mlmodel.kind), full_name, make)


def remove(request: HttpRequest) -> HttpResponse:
    """``DELETE /api/repos/delete``."""
    actor, body = signed_in(request), json_body(request)
    mlmodel = repository_get(actor, _kind_in(body), _name_in(body, actor))
    # Clients send no reason, but the address accepts one.
    mlmodel_delete(actor=actor, mlmodel=mlmodel, reason=text_in(body, "reason", ""))
    return json_answer({})


def move(request: HttpRequest) -> HttpResponse:
    """``POST /api/repos/move``."""
    actor, body = signed_in(request), json_body(request)
    mlmodel = repository_get(actor, _kind_in(body), text_in(body, "fromRepo"))
    namespace, slash, name = text_in(body, "toRepo").partition("/")
    if not slash:
        raise BadRequest("'toRepo' must be namespace/name.")
    moved = mlmodel_move(actor=actor, mlmodel=mlmodel, namespace=namespace, name=name)
    return json_answer({"url": absolute(web_path(moved))})


def change(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``PUT /api/models/{id}/settings``."""
    body = json_body(request)
    visibility, gate = _visibility_in(body), _gate_in(body)
    if visibility is None and gate is None:
        raise BadRequest("Name 'visibility', 'private' or 'gated'.")
    mlmodel = mlmodel_update(
        actor=signed_in(request), mlmodel=mlmodel, visibility=visibility, gate=gate
    )
    return json_answer(
        {
            "private": mlmodel.visibility == Visibility.PRIVATE,
            "visibility": mlmodel.visibility,
            "gated": False if mlmodel.gate == Gate.OPEN else mlmodel.gate,
        }
    )


def check_read(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/auth-check``: whether the user may fetch its files."""
    require_fetch(actor_of(request), mlmodel)
    return json_answer({})


def check_write(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/auth-check/write``."""
    require(signed_in(request), role=Role.WRITE, namespace=mlmodel.namespace)
    return json_answer({})


def _created(
    actor: User, kind: RepositoryKind, full_name: str, make: Callable[[str, str], MLModel]
) -> HttpResponse:
    """The answer for ``make(namespace, name)``: the repository, or 409 if the name is in use."""
    namespace, slash, name = full_name.partition("/")
    if not slash:
        raise BadRequest("The name must be namespace/name.")
    try:
        mlmodel = make(namespace, name)
    except Conflict as conflict:
        other = repository_get(actor, kind, full_name)
        return refuse(409, conflict.detail, url=absolute(web_path(other)))
    except NotFound as error:
        # Clients take 404 for a missing repository or file: a missing namespace is answered by 403.
        raise Forbidden("permission_denied", error.detail) from None
    return json_answer(
        {
            "url": absolute(web_path(mlmodel)),
            "name": mlmodel.full_name,
            "id": str(mlmodel.uuid),
            "private": mlmodel.visibility == Visibility.PRIVATE,
        }
    )


def _kind_in(body: Mapping[str, Any]) -> RepositoryKind:
    text = text_in(body, "type", RepositoryKind.MODEL)
    try:
        return RepositoryKind(text)
    except ValueError:
        raise BadRequest(f"This hub has models and datasets, not {text[:50]!r}.") from None


def _name_in(body: Mapping[str, Any], actor: User) -> str:
    """``namespace/name``; a name without namespace is in the user's own."""
    name = text_in(body, "name")
    if "/" in name:
        return name
    return f"{text_in(body, 'organization', actor.username)}/{name}"


def _visibility_in(body: Mapping[str, Any]) -> Visibility | None:
    """``visibility``, or ``private`` of older clients; ``None`` if neither is set."""
    if body.get("visibility") is not None:
        try:
            return Visibility(text_in(body, "visibility"))
        except ValueError:
            raise BadRequest("'visibility' must be 'public' or 'private'.") from None
    if body.get("private") is None:
        return None
    return Visibility.PRIVATE if flag_in(body, "private") else Visibility.PUBLIC


def _gate_in(body: Mapping[str, Any]) -> Gate | None:
    value = body.get("gated")
    if value is None:
        return None
    if value not in ("auto", "manual", False):
        raise BadRequest("'gated' must be 'auto', 'manual' or false.")
    return _GATES[value]
