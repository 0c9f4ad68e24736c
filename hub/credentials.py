"""Who is asking, where a protocol of others decides how they say so.

The Hugging Face protocol sends a token as ``Authorization: Bearer``; git and git-lfs send it as
the password of ``Authorization: Basic``. The browser's session counts for reading only: these
protocols know no CSRF token.
"""

import base64
import binascii

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from registry.errors import Unauthenticated
from registry.services.people.token import authenticate
from registry.tables import User

# Of the WSGI environment, which clients cannot set but for names that begin with HTTP_.
_ACTOR = "hpcfair.actor"


def actor_of(request: HttpRequest) -> User | AnonymousUser:
    """The person whose token, or, for reads, whose session came along; else nobody.

    Raises:
        Unauthenticated: a token came that is unknown, expired or revoked. Answering as if nobody
            asked would hide the mistake.
    """
    # Asked by several on the way of one request, and dear enough to be found out once.
    if _ACTOR not in request.META:
        request.META[_ACTOR] = _found_out(request)
    actor: User | AnonymousUser = request.META[_ACTOR]
    return actor


def signed_in(request: HttpRequest) -> User:
    """The person asking.

    Services read ``actor=None`` as the hub itself, so an anonymous request must end here rather
    than reach one.

    Raises:
        Unauthenticated: see :func:`actor_of`; ``not_authenticated`` if nobody is signed in.
    """
    actor = actor_of(request)
    if isinstance(actor, AnonymousUser):
        raise Unauthenticated(
            "not_authenticated",
            "This needs a signed-in person.",
            "Sign in with a token from your settings.",
        )
    return actor


def _found_out(request: HttpRequest) -> User | AnonymousUser:
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
