"""OAuth's device flow (RFC 8628), used by ``hf auth login``.

Errors are OAuth's JSON; clients read ``error`` only.
"""

from django.http import HttpRequest, HttpResponse

from hub.hf.views import absolute, json_answer
from hub.throttling.client import network_of
from registry.services.people.devicegrant import (
    INTERVAL,
    LIFETIME,
    GrantState,
    device_grant_begin,
    device_grant_fetch,
)

_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_TEXTS = {
    GrantState.PENDING: "The code has not been entered yet.",
    GrantState.HURRIED: "Poll less often.",
    GrantState.REFUSED: "The person refused.",
    GrantState.EXPIRED: "The code is unknown, used or expired.",
}


#: Bits of an IPv6 network that one site gets (RFC 6177): it has 65,536 networks of 64 bits.
_SITE_PREFIX = 48


def device(request: HttpRequest) -> HttpResponse:
    """``POST /oauth/device``, for any client: the person decides."""
    grant, secret = device_grant_begin(network=network_of(request, _SITE_PREFIX))
    page = absolute("/device")
    return _uncached(
        json_answer(
            {
                "device_code": secret,
                "user_code": grant.user_code,
                "verification_uri": page,
                "verification_uri_complete": f"{page}?code={grant.user_code}",
                "expires_in": int(LIFETIME.total_seconds()),
                "interval": int(INTERVAL.total_seconds()),
            }
        )
    )


def token(request: HttpRequest) -> HttpResponse:
    """``POST /oauth/token``. Tokens do not expire, and need no refresh."""
    if request.POST.get("grant_type") != _DEVICE_CODE:
        return _refused("unsupported_grant_type", "Only the device flow is supported.")
    result = device_grant_fetch(request.POST.get("device_code", ""))
    if isinstance(result, GrantState):
        return _refused(result.value, _TEXTS[result])
    return _uncached(
        json_answer({"access_token": result, "token_type": "bearer", "scope": "write"})
    )


def _refused(error: str, text: str) -> HttpResponse:
    return _uncached(json_answer({"error": error, "error_description": text}, 400))


def _uncached(answer: HttpResponse) -> HttpResponse:
    answer["Cache-Control"] = "no-store"
    return answer
