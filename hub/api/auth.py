"""Authentication by bearer token or browser session."""

from django.contrib.auth.models import AnonymousUser
from rest_framework import authentication
from rest_framework.request import Request

from hub.credentials import actor_of
from registry.errors import Unauthenticated
from registry.tables import Token, User


class BearerAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer hpf_...``.

    The returned user has the token as ``user.token``, which limits their permissions. An unknown,
    expired or revoked token is refused even where none is required: an anonymous answer would hide
    the mistake. Other schemes are ignored; they may belong to a proxy.
    """

    def authenticate(self, request: Request) -> tuple[User, Token | None] | None:
        scheme, _, _ = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        # Also read by the limits on requests: the same request is authenticated once.
        user = actor_of(request._request)  # noqa: SLF001
        assert isinstance(user, User)  # noqa: S101 - a bearer token is refused or has an owner
        return user, user.token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """The session cookie of the pages; writes also need the CSRF token."""


def signed_in(request: Request) -> User:
    """The authenticated person.

    DANGER: services take ``actor=None`` for the hub itself, so that an anonymous request must not
    reach them.

    Raises:
        Unauthenticated: ``not_authenticated`` for an anonymous request.
    """
    user: User | AnonymousUser = request.user
    if isinstance(user, AnonymousUser):
        raise Unauthenticated(
            "not_authenticated",
            "Authentication is required.",
            "Send `Authorization: Bearer hpf_...`; create tokens in your settings.",
        )
    return user
