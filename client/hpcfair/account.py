"""Who asks, and the token they ask with."""

from hpcfair.transport import Transport
from hpcfair.types import Account


def whoami(http: Transport) -> Account:
    """The account the token belongs to.

    Raises:
        Unauthenticated: there is no token, or the hub does not take it.
    """
    return Account.from_json(http.get("/api/v1/whoami"))
