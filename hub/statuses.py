"""What the domain refuses, as HTTP statuses."""

from registry.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RegistryError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

STATUSES: dict[type[RegistryError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Invalid: 400,
    TooLarge: 413,
    Unavailable: 503,
}


def status_of(error: RegistryError) -> int:
    """The HTTP status of a refusal, decided by its class."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
