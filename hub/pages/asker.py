"""Who is asking, where it must be somebody."""

from django.http import HttpRequest

from registry.errors import Unauthenticated
from registry.tables import User


def signed_in(request: HttpRequest) -> User:
    """The person signed in.

    Raises:
        Unauthenticated: ``not_authenticated``.
    """
    if not isinstance(request.user, User):
        raise Unauthenticated("not_authenticated", "Sign in first.")
    return request.user
