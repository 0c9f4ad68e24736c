"""Basics of all views of the protocol: dispatch, lookup of repositories, JSON input and output.

These are plain Django views: clients send ``Accept`` and ``Content-Type`` values that Django REST
framework refuses, and bodies that must be streamed.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, TypeAlias

from django.conf import settings
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from hub.credentials import actor_of
from hub.hf.errors import BadRequest, answer, refuse
from hub.refusals import redirect_moved
from registry.errors import NotFound
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.states import RepositoryKind
from registry.tables import MLModel

View: TypeAlias = Callable[..., HttpResponseBase]

_DRAIN_BYTES, _PIECE_BYTES = 64 << 20, 1 << 20

#: The path segment of a kind: ``/api/models/...``.
KINDS = {"models": RepositoryKind.MODEL, "datasets": RepositoryKind.DATASET}


def wire(**views: View) -> View:
    """A view that dispatches by method: ``wire(get=info, delete=remove)``; GET also answers HEAD.

    Exceptions become errors of the protocol, and views are exempt from CSRF checks: see
    :mod:`hub.credentials`.
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
            return response
        try:
            response = handler(request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 (answered, and logged if unexpected)
            response = answer(request, error)
            _drain(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response

    return view


def _drain(request: HttpRequest) -> None:
    """Read the rest of the body, up to a limit: a server that closes earlier cuts its answer."""
    left = _DRAIN_BYTES
    with suppress(UnreadablePostError):
        while left > 0 and (piece := request.read(_PIECE_BYTES)):
            left -= len(piece)


def repository_view(view: View) -> View:
    """Decorator that passes the MLModel or data set of the address: ``view(request, mlmodel)``.

    A moved one is answered by 307, which clients follow with the same method and body.
    """

    @wraps(view)
    def wrapper(
        request: HttpRequest, kind: str, name: str, namespace: str = "", **rest: Any
    ) -> HttpResponseBase:
        actor, full_name = actor_of(request), f"{namespace}/{name}" if namespace else name
        try:
            mlmodel = repository_get(actor, KINDS[kind], full_name)
        except NotFound:
            moved = repository_moved(actor, KINDS[kind], full_name)
            if moved is None:
                raise
            return redirect_moved(request, full_name, moved.full_name)
        return view(request, mlmodel, **rest)

    return wrapper


def json_answer(data: Any, status: int = 200) -> HttpResponse:
    """``data`` as JSON."""
    return HttpResponse(json.dumps(data).encode(), status=status, content_type="application/json")


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in the body, ``{}`` for an empty body; otherwise raises ``BadRequest``."""
    try:
        data = json.loads(request.body or b"{}")
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object.")
    return data


def text_in(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """The string ``data[key]``. Raises ``BadRequest`` if it has another type or no value."""
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
    """The absolute address of ``path``; clients fetch such links verbatim."""
    return f"{settings.HUB_URL}{path}"


def web_path(mlmodel: MLModel) -> str:
    """``/ns/name``, or ``/datasets/ns/name``."""
    prefix = "/datasets" if mlmodel.kind == RepositoryKind.DATASET else ""
    return f"{prefix}/{mlmodel.full_name}"
