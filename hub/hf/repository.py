"""Repositories as a whole: made, deleted, moved, set; who may read and write them."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of, signed_in
from hub.hf.errors import BadRequest, refuse
from hub.hf.views import absolute, flag_in, json_answer, json_body, text_in, web_path
from registry.errors import Conflict, Forbidden, NotFound
from registry.selectors.access import require, require_fetch
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
    """``POST /api/repos/create``; a name in use answers 409 with the address of what uses it."""
    actor, body = signed_in(request), json_body(request)
    kind, full_name = _kind_in(body), _name_in(body, actor)
    visibility = _visibility_in(body) or Visibility.PUBLIC

    def make(namespace: str, name: str) -> MLModel:
        return mlmodel_create(
            actor=actor, namespace=namespace, name=name, visibility=visibility, kind=kind
        )

    return _made(actor, kind, full_name, make)


def duplicate(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``POST /api/models/{id}/duplicate``: all of it, by the same ids, under another name."""
    actor, body = signed_in(request), json_body(request)
    full_name, visibility = text_in(body, "repository"), _visibility_in(body)

    def make(namespace: str, name: str) -> MLModel:
        return fork(
            actor=actor, source=mlmodel, namespace=namespace, name=name, visibility=visibility
        )

    return _made(actor, RepositoryKind(mlmodel.kind), full_name, make)


def remove(request: HttpRequest) -> HttpResponse:
    """``DELETE /api/repos/delete``."""
    actor, body = signed_in(request), json_body(request)
    mlmodel = repository_get(actor, _kind_in(body), _name_in(body, actor))
    # No client sends a reason; who calls this by hand may.
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
    changed = mlmodel_update(
        actor=signed_in(request), mlmodel=mlmodel, visibility=visibility, gate=gate
    )
    return json_answer(
        {
            "private": changed.visibility == Visibility.PRIVATE,
            "visibility": changed.visibility,
            "gated": False if changed.gate == Gate.OPEN else changed.gate,
        }
    )


def check_read(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/auth-check``: whether the asker may fetch its files."""
    require_fetch(actor_of(request), mlmodel)
    return json_answer({})


def check_write(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """``GET /api/models/{id}/auth-check/write``."""
    require(signed_in(request), role=Role.WRITE, namespace=mlmodel.namespace)
    return json_answer({})


def _made(
    actor: User, kind: RepositoryKind, full_name: str, make: Callable[[str, str], MLModel]
) -> HttpResponse:
    """What ``make(namespace, name)`` made; where the name is in use, 409 and what uses it."""
    namespace, slash, name = full_name.partition("/")
    if not slash:
        raise BadRequest("The name must be namespace/name.")
    try:
        made = make(namespace, name)
    except Conflict as conflict:
        known = repository_get(actor, kind, full_name)
        return refuse(409, conflict.detail, url=absolute(web_path(known)))
    except NotFound as error:
        # Clients take a 404 for a repository's or a file's; that no such namespace exists means
        # as much as that one has no right there.
        raise Forbidden("permission_denied", error.detail) from None
    return json_answer(
        {
            "url": absolute(web_path(made)),
            "name": made.full_name,
            "id": str(made.uuid),
            "private": made.visibility == Visibility.PRIVATE,
        }
    )


def _kind_in(body: Mapping[str, Any]) -> RepositoryKind:
    given = text_in(body, "type", RepositoryKind.MODEL)
    try:
        return RepositoryKind(given)
    except ValueError:
        raise BadRequest(f"This hub keeps models and datasets, no {given[:50]!r}.") from None


def _name_in(body: Mapping[str, Any], actor: User) -> str:
    """``namespace/name``; a name alone is one in the asker's own namespace."""
    name = text_in(body, "name")
    if "/" in name:
        return name
    return f"{text_in(body, 'organization', actor.username)}/{name}"


def _visibility_in(body: Mapping[str, Any]) -> Visibility | None:
    """``visibility``, or ``private`` as older clients say it; ``None`` where neither is said."""
    if body.get("visibility") is not None:
        try:
            return Visibility(text_in(body, "visibility"))
        except ValueError:
            raise BadRequest("'visibility' must be 'public' or 'private'.") from None
    if body.get("private") is None:
        return None
    return Visibility.PRIVATE if flag_in(body, "private") else Visibility.PUBLIC


def _gate_in(body: Mapping[str, Any]) -> Gate | None:
    given = body.get("gated")
    if given is None:
        return None
    if given not in ("auto", "manual", False):
        raise BadRequest("'gated' must be 'auto', 'manual' or false.")
    return _GATES[given]
