"""Signing in from a browser: the device authorization grant (RFC 8628).

The program shows a short code and an address. A person who is signed in at the hub opens the
address, compares the code and allows it; the program polls and receives a token, once. No token is
typed, and none appears in a notebook or in the history of a shell.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hpcfair.errors import Forbidden, Invalid, Unauthenticated
from hpcfair.transport import Transport

_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
#: Seconds to add to the interval each time that the hub asks for it (RFC 8628, section 3.5).
_SLOWER_S = 5.0


@dataclass(frozen=True, slots=True)
class Grant:
    """A sign-in that waits for its person.

    Attributes:
        code: Shown by the program, compared by the person.
        page: Address of the form, with the code filled in.
        secret: Proves to the hub that this program began the sign-in.
        interval_s: Seconds between two polls.
        expires_s: Seconds after which the code is not valid any more.
    """

    code: str
    page: str
    secret: str = field(repr=False)
    interval_s: float
    expires_s: float

    def __str__(self) -> str:
        return f"Open {self.page}\ncompare the code {self.code} and allow it."


def begin(http: Transport) -> Grant:
    """Begin a sign-in."""
    answer = http.form("/oauth/device", client_id="hpcfair", scope="write")
    return Grant(
        code=str(answer["user_code"]),
        page=str(answer.get("verification_uri_complete") or answer["verification_uri"]),
        secret=str(answer["device_code"]),
        interval_s=float(answer.get("interval") or _SLOWER_S),
        expires_s=float(answer["expires_in"]),
    )


def token_of(http: Transport, grant: Grant, *, sleep: Callable[[float], None] = time.sleep) -> str:
    """Wait for the person, and return the token.

    Raises:
        Forbidden: the person refused.
        Unauthenticated: the code expired before somebody allowed it.
    """
    waited_s, interval_s = 0.0, grant.interval_s
    while waited_s <= grant.expires_s:
        sleep(interval_s)
        waited_s += interval_s
        try:
            answer = http.form("/oauth/token", grant_type=_DEVICE_CODE, device_code=grant.secret)
            return str(answer["access_token"])
        except Invalid as refusal:
            if refusal.code == "access_denied":
                raise Forbidden(
                    "The sign-in was refused in the browser.", code=refusal.code
                ) from None
            if refusal.code == "expired_token":
                break
            if refusal.code == "slow_down":
                interval_s += _SLOWER_S
            elif refusal.code != "authorization_pending":
                raise
    raise Unauthenticated(
        f"The code {grant.code} was not allowed in time.",
        "Run `hpcfair login` again.",
        code="expired_token",
    )
