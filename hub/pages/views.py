"""Basics of the pages' views: the signed-in person, refusals as pages, answers to forms."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.templatetags.static import static
from django.views.decorators.http import require_safe
from django.views.defaults import bad_request

from hub.problems import problem_answer
from hub.refusals import View, refusal
from registry.errors import (
    CODES,
    Conflict,
    Invalid,
    NotFound,
    RegistryError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from registry.tables import User

P = ParamSpec("P")
T = TypeVar("T")


def hub_context(_: HttpRequest) -> dict[str, Any]:
    """Context processor: name and outside address of this hub."""
    return {"hub_name": settings.HUB_NAME, "hub_url": settings.HUB_URL}


def signed_in(request: HttpRequest) -> User:
    """The signed-in person. Raises ``Unauthenticated``: ``not_authenticated``."""
    if not isinstance(request.user, User):
        raise Unauthenticated("not_authenticated", "Sign in first.")
    return request.user


def page(view: View[P]) -> View[P]:
    """Decorator that answers refusals of ``view`` with their page, or with the sign-in page."""

    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Unauthenticated:
            return redirect(f"/login?{urlencode({'next': _return_path(request)})}")
        except RegistryError as error:
            return refusal(request, error)

    return wrapper


def listed(search: Callable[[], T]) -> T | None:
    """The result of ``search``, which is one part of a page; ``None`` while there is no index."""
    try:
        return search()
    except Unavailable:
        return None


def act(
    request: HttpRequest, back: str, action: Callable[[], object], *, done: str
) -> HttpResponseBase:
    """Run the action of a form and redirect to its page ``back``, with the message ``done``.

    A conflict or an invalid value is the message instead; other refusals have their own page.
    """
    try:
        action()
    except (Invalid, Conflict) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect(back)


def error_codes(request: HttpRequest) -> HttpResponse:
    """All error codes with their meaning: the ``type`` of each problem document leads here."""
    return render(request, "docs/errors.html", {"codes": sorted(CODES.items())})


@require_safe
def icon(_: HttpRequest) -> HttpResponse:
    """``/favicon.ico``: what browsers ask for when they show JSON or a file, which name no icon."""
    return redirect(static("hub/mark.svg"))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Handler of 404: no route matches."""
    error = NotFound("page_not_found", f"There is no page {request.path}.", "Search for it above.")
    return refusal(request, error)


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Handler of 400: the request cannot be read, such as a form of many megabytes."""
    if isinstance(exception, DisallowedHost):
        # No page: its links would need the host.
        error = Invalid(
            "invalid_request", "This hub is not known by that host name.", "See HPCFAIR_HOSTS."
        )
        return problem_answer(error, 400)
    if not isinstance(exception, RequestDataTooBig):
        return bad_request(request, exception)
    most = filesizeformat(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    detail = f"A form may hold {most} of text."
    hint = "Go back, and send long texts as files: README.md may have 1 MB."
    return refusal(request, TooLarge("body_too_large", detail, hint))


def broken(request: HttpRequest) -> HttpResponse:
    """Handler of 500. Its template uses no tags, which could fail again."""
    return render(request, "500.html", status=500)


def _return_path(request: HttpRequest) -> str:
    """Address for the return from signing in: this page, or the page of the submitted form."""
    if request.method in {"GET", "HEAD"}:
        return request.get_full_path()
    origin = urlsplit(request.headers.get("Referer", ""))
    return origin.path if origin.netloc == request.get_host() else "/"
