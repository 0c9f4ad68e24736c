"""The account that an access token belongs to."""

from hpcfair.transport import Transport
from hpcfair.types import Account


def whoami(http: Transport) -> Account:
    """The account that the token belongs to.

    Raises:
        Unauthenticated: there is no token, or the hub rejects it.
    """
    return Account.from_json(http.get("/api/v1/whoami"))
