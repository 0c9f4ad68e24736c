"""Errors of the registry over HTTP: status and page."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render

from registry.errors import (
    CODES,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    RegistryError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

#: Seconds after which a refused request may be sent again, where the reason passes.
RETRY_AFTER_S = "5"

STATUSES: dict[type[RegistryError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Invalid: 400,
    TooLarge: 413,
    RateLimited: 429,
    Unavailable: 503,
}


def status_of(error: RegistryError) -> int:
    """HTTP status of a refusal, by its class."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def refusal(request: HttpRequest, error: RegistryError) -> HttpResponse:
    """The page of a refusal, with its status."""
    status = status_of(error)
    context = {"error": error, "heading": CODES[error.code], "status": status}
    response = render(request, "error.html", context, status=status)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after_s)
    elif status == 503:
        response.headers["Retry-After"] = RETRY_AFTER_S
    return response


def refusing(view: View[P]) -> View[P]:
    """Decorator that answers refusals of ``view`` with their page.

    For addresses that programs use, too: anonymous requests get 401 instead of the sign-in page.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except RegistryError as error:
            return refusal(request, error)

    return wrapper


def redirect_moved(request: HttpRequest, old: str, new: str) -> HttpResponse:
    """307 from the address of the repository ``old`` to the same address of ``new``."""
    # The address as sent preserves escapes, such as of a branch's slash.
    address = request.get_full_path()
    start = address.lower().find(f"/{old}".lower())
    response = HttpResponseRedirect(f"{address[:start]}/{new}{address[start + len(old) + 1 :]}")
    response.status_code = 307
    return response
