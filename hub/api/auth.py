"""Who is asking: a bearer token, or the browser's session."""

from django.contrib.auth.models import AnonymousUser
from rest_framework import authentication
from rest_framework.request import Request

from registry.errors import Unauthenticated
from registry.services.people.token import authenticate
from registry.tables import Token, User


class BearerAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer hpf_...``.

    The user that comes back carries the token as ``user.token``, which limits what they may do.
    A token that is unknown, expired or revoked is refused even where none is needed: answering as
    if nobody asked would hide the mistake. Other schemes are left to whoever put them there (a
    proxy's own password).
    """

    def authenticate(self, request: Request) -> tuple[User, Token | None] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        user = authenticate(secret=secret.strip())
        return user, user.token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """The cookie of someone signed in on the pages; writes need the CSRF token too."""


def signed_in(request: Request) -> User:
    """The person asking.

    Services read ``actor=None`` as the hub itself, so an anonymous request must end here rather
    than reach one.

    Raises:
        Unauthenticated: ``not_authenticated`` if nobody is signed in.
    """
    user: User | AnonymousUser = request.user
    if isinstance(user, AnonymousUser):
        raise Unauthenticated(
            "not_authenticated",
            "This needs a signed-in person.",
            "Send `Authorization: Bearer hpf_...`; tokens are made in your settings.",
        )
    return user
