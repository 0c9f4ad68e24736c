"""The target whose builds a page shows first, of those that it can show."""

from collections.abc import Sequence

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

#: Parameter of addresses, and name of the cookie with the last choice.
NAME = "target"


def target_choice(request: HttpRequest, slugs: Sequence[str], own: Sequence[str]) -> str:
    """One of ``slugs``, or "" of none.

    In this order: the one that the address names; the one that was last chosen in this session of
    the browser; the first of ``own``, the targets of this person's machines; the first of
    ``slugs``.
    """
    wishes = [request.GET.get(NAME, ""), request.COOKIES.get(NAME, ""), *own, *slugs]
    return next((slug for slug in wishes if slug in slugs), "")


def keep_choice(request: HttpRequest, response: HttpResponseBase, slugs: Sequence[str]) -> None:
    """Store the target that the address names, if it is one of ``slugs``, until the browser ends
    its session."""
    slug = request.GET.get(NAME, "")
    if slug in slugs and slug != request.COOKIES.get(NAME):
        response.set_cookie(
            NAME,
            slug,
            secure=bool(settings.SESSION_COOKIE_SECURE),
            httponly=True,
            samesite="Lax",
        )
