"""What every address of the protocol shares.

Plain Django views, not the REST framework's: clients send ``Accept`` and ``Content-Type`` values
it would refuse, and bodies that must be streamed.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, TypeAlias

from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    UnreadablePostError,
)
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from hub.credentials import actor_of
from hub.hf.errors import BadRequest, answer, name_request, refuse
from registry.errors import NotFound
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.states import RepositoryKind
from registry.tables import MLModel

View: TypeAlias = Callable[..., HttpResponseBase]

_DRAIN_BYTES, _PIECE_BYTES = 64 << 20, 1 << 20

#: The path segment of a kind: ``/api/models/...``.
KINDS = {"models": RepositoryKind.MODEL, "datasets": RepositoryKind.DATASET}


def wire(**views: View) -> View:
    """One view out of one per method: ``wire(get=info, delete=remove)``; GET also answers HEAD.

    Whatever a view raises becomes an answer the clients understand, every answer carries the
    request's id, and no answer depends on a cookie's CSRF token: see :mod:`hub.credentials`.
    """
    by_method = {method.upper(): view for method, view in views.items()}
    if "GET" in by_method:
        by_method.setdefault("HEAD", by_method["GET"])
    allowed = ", ".join(sorted(by_method))

    @csrf_exempt
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        handler = by_method.get(request.method or "")
        response: HttpResponseBase
        if handler is None:
            response = refuse(405, f"Use one of {allowed}.")
            response.headers["Allow"] = allowed
            name_request(request, response)
            return response
        try:
            response = handler(request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (answered, and logged if unexpected)
            response = answer(request, error)
            _drain(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        name_request(request, response)
        return response

    return view


def _drain(request: HttpRequest) -> None:
    """Read on for a while: a server that closes on a client in mid-sentence cuts its answer off."""
    left = _DRAIN_BYTES
    with suppress(UnreadablePostError):
        while left > 0 and (piece := request.read(_PIECE_BYTES)):
            left -= len(piece)


def repository_view(view: View) -> View:
    """Give ``view`` the MLModel or data set that its address names, in place of the names.

    ``view(request, mlmodel, **rest)``. One that was moved answers 307 with its new address, which
    clients follow with the same method and body.
    """

    @wraps(view)
    def found(
        request: HttpRequest, kind: str, namespace: str, name: str, **rest: Any
    ) -> HttpResponseBase:
        actor, wanted = actor_of(request), f"{namespace}/{name}"
        try:
            mlmodel = repository_get(actor, KINDS[kind], wanted)
        except NotFound:
            moved = repository_moved(actor, KINDS[kind], wanted)
            if moved is None:
                raise
            return _moved(request, wanted, moved.full_name)
        return view(request, mlmodel, **rest)

    return found


def json_answer(data: Any, status: int = 200) -> HttpResponse:
    """``data`` as JSON."""
    return HttpResponse(json.dumps(data).encode(), status=status, content_type="application/json")


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The members of the JSON object in the body; an empty body is an empty object.

    Raises:
        BadRequest: the body is something else.
    """
    try:
        data = json.loads(request.body or b"{}")
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is no JSON: {error}.") from None
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object.")
    return data


def text_in(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """The string ``data[key]``.

    Raises:
        BadRequest: it is missing, and there is no default, or no string.
    """
    value = data.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadRequest(f"{key!r} must be a string.")
    return value


def flag_in(data: Mapping[str, Any], key: str) -> bool:
    """Whether ``data[key]`` is set: ``true``, ``1`` or ``True``, as a string or as itself."""
    return str(data.get(key, "")).lower() in {"true", "1"}


def absolute(path: str) -> str:
    """The address of ``path`` as clients reach it; they fetch such links verbatim."""
    return f"{settings.HUB_URL}{path}"


def web_path(mlmodel: MLModel) -> str:
    """``/ns/name``, or ``/datasets/ns/name``."""
    prefix = "/datasets" if mlmodel.kind == RepositoryKind.DATASET else ""
    return f"{prefix}/{mlmodel.full_name}"


def _moved(request: HttpRequest, old: str, new: str) -> HttpResponse:
    # Of the address as it was sent: what is escaped in it (a branch's slash) must stay so.
    address = request.get_full_path()
    start = address.lower().find(f"/{old}".lower())
    response = HttpResponseRedirect(f"{address[:start]}/{new}{address[start + len(old) + 1 :]}")
    response.status_code = 307
    return response
