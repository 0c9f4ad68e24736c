"""Browsers in which a person has signed in before, recognized by a signed cookie.

The cookie authenticates nobody: attempts to sign in from such a browser are counted apart, so that
strangers who guess a password do not delay its owner. A new password ends all of them.
"""

import secrets

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from registry.selectors.people.account import user_find
from registry.tables import User

COOKIE = "browser"
_SALT = "hub.pages.browsers"
_LIFETIME_S = 400 * 86_400


def browser_of(request: HttpRequest, username: str) -> str:
    """The id of this browser, if ``username`` has signed in here before; else ""."""
    try:
        stated = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=_LIFETIME_S)
    except signing.BadSignature:
        return ""
    user = user_find(username)
    if user is None or stated[:2] != [user.pk, _password_mark(user)]:
        return ""
    return str(stated[2])


def remember(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Recognize this browser when ``user`` signs in again."""
    browser = browser_of(request, user.username) or secrets.token_urlsafe(16)
    response.set_cookie(
        COOKIE,
        signing.dumps([user.pk, _password_mark(user), browser], salt=_SALT),
        max_age=_LIFETIME_S,
        path="/login",
        secure=bool(settings.SESSION_COOKIE_SECURE),
        httponly=True,
        samesite="Lax",
    )


def _password_mark(user: User) -> str:
    """Changes with the password."""
    return str(user.get_session_auth_hash())[:16]
