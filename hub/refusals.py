"""Refusals of the domain as pages, for all rooms that show some."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from hub.statuses import status_of
from registry.errors import CODES, RegistryError

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def refusal(request: HttpRequest, error: RegistryError) -> HttpResponse:
    """One refusal as a page with its status."""
    status = status_of(error)
    context = {"error": error, "heading": CODES[error.code], "status": status}
    return render(request, "error.html", context, status=status)


def refusing(view: View[P]) -> View[P]:
    """Show what the domain refuses as a page that says what to do.

    For addresses that programs ask as well: who is not signed in is told so, not led elsewhere.
    """

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except RegistryError as error:
            return refusal(request, error)

    return shown
