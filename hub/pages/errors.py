"""Refusals of the domain as pages."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.views.defaults import bad_request

from hub.refusals import View, refusal
from registry.errors import (
    Conflict,
    Invalid,
    NotFound,
    RegistryError,
    TooLarge,
    Unauthenticated,
)

P = ParamSpec("P")


def page(view: View[P]) -> View[P]:
    """Show what the domain refuses as a page that says what to do."""

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Unauthenticated:
            return redirect(f"/login?{urlencode({'next': _back_to(request)})}")
        except RegistryError as error:
            return refusal(request, error)

    return shown


def act(
    request: HttpRequest, back: str, deed: Callable[[], object], *, done: str
) -> HttpResponseBase:
    """Do what a form asks for and go back to its page, which says that it is done or why not.

    Only refusals the asker can mend are told there; others have a page of their own.
    """
    try:
        deed()
    except (Invalid, Conflict) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect(back)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """For addresses no route knows."""
    error = NotFound(
        "page_not_found", f"There is nothing at {request.path}.", "Search for it above."
    )
    return refusal(request, error)


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    """For requests that cannot be read, such as forms of many megabytes."""
    if not isinstance(exception, RequestDataTooBig):
        return bad_request(request, exception)
    most = filesizeformat(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    detail = f"A form may hold {most} of text."
    hint = "Go back, and send long texts as files: README.md may have 1 MB."
    return refusal(request, TooLarge("body_too_large", detail, hint))


def broken(request: HttpRequest) -> HttpResponse:
    """For what went wrong inside: no template tags that could fail again."""
    return render(request, "500.html", status=500)


def _back_to(request: HttpRequest) -> str:
    """Where somebody should be after signing in: of a form, on the page that holds it."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    origin = urlsplit(request.headers.get("Referer", ""))
    return origin.path if origin.netloc == request.get_host() else "/"
