"""Authentication for protocols with schemes of their own: Hugging Face, git, git-lfs.

The Hugging Face protocol sends a token as ``Authorization: Bearer``; git and git-lfs send it as
the password of ``Authorization: Basic``. A browser session is accepted for reading only, because
these protocols have no CSRF token.
"""

import base64
import binascii

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from registry.errors import Unauthenticated
from registry.services.people.token import authenticate
from registry.tables import User

# Key of the WSGI environment, in which clients can only set names that begin with HTTP_.
_ACTOR = "hpcfair.actor"


def actor_of(request: HttpRequest) -> User | AnonymousUser:
    """The owner of the request's token or, for reads, session; else an anonymous user.

    Raises ``Unauthenticated`` if the token is unknown, expired or revoked: an anonymous answer
    would hide the mistake.
    """
    # Several callers need it in one request, and authentication is expensive.
    if _ACTOR not in request.META:
        request.META[_ACTOR] = _authenticated(request)
    actor: User | AnonymousUser = request.META[_ACTOR]
    return actor


def signed_in(request: HttpRequest) -> User:
    """The authenticated person. Raises ``Unauthenticated`` for anonymous requests too.

    DANGER: services take ``actor=None`` for the hub itself, so that an anonymous request must not
    reach them.
    """
    actor = actor_of(request)
    if isinstance(actor, AnonymousUser):
        raise Unauthenticated(
            "not_authenticated",
            "Authentication is required.",
            "Sign in with a token from your settings.",
        )
    return actor


def _authenticated(request: HttpRequest) -> User | AnonymousUser:
    scheme, _, credential = request.headers.get("Authorization", "").partition(" ")
    match scheme.lower():
        case "bearer":
            return authenticate(secret=credential.strip())
        case "basic":
            return authenticate(secret=_password(credential.strip()))
    if request.method in {"GET", "HEAD"}:
        return request.user
    return AnonymousUser()


def _password(credential: str) -> str:
    try:
        return base64.b64decode(credential, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        raise Unauthenticated("token_invalid", "The Basic credentials are malformed.") from None
