"""Refusals of the domain as pages."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render

from registry.errors import CODES, Forbidden, NotFound, RegistryError, Unauthenticated

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def page(view: View[P]) -> View[P]:
    """Show what the domain refuses as a page that says what to do."""

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Unauthenticated:
            return redirect(f"/login?next={request.path}")
        except RegistryError as error:
            return refusal(request, error)

    return shown


def refusal(request: HttpRequest, error: RegistryError) -> HttpResponse:
    """One refusal as a page with its status."""
    status = 404 if isinstance(error, NotFound) else 403 if isinstance(error, Forbidden) else 400
    context = {"error": error, "heading": CODES[error.code], "status": status}
    return render(request, "error.html", context, status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """For addresses no route knows."""
    error = NotFound(
        "page_not_found", f"There is nothing at {request.path}.", "Search for it above."
    )
    return refusal(request, error)


def broken(request: HttpRequest) -> HttpResponse:
    """For what went wrong inside: no template tags that could fail again."""
    return render(request, "500.html", status=500)
