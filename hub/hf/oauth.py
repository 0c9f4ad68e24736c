"""Signing ``hf auth login`` in from a browser: OAuth's device flow (RFC 8628).

Refusals are OAuth's JSON, not the Hub's: clients look at ``error`` and nothing else.
"""

from django.http import HttpRequest, HttpResponse

from hub.hf.views import absolute, json_answer
from registry.services.people.devicegrant import (
    INTERVAL,
    LIFETIME,
    device_grant_begin,
    device_grant_fetch,
)
from registry.states import GrantState

_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_WORDS = {
    GrantState.PENDING: "Nobody has typed the code yet.",
    GrantState.HURRIED: "Ask less often.",
    GrantState.REFUSED: "The person said no.",
    GrantState.EXPIRED: "The code is unknown, was used, or ran out.",
}


def device(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """``POST /oauth/device``. Any client may ask: it is the person who decides."""
    grant, secret = device_grant_begin()
    page = absolute("/device")
    return _fresh(
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
    """``POST /oauth/token``. The tokens do not run out, so there is nothing to refresh."""
    if request.POST.get("grant_type") != _DEVICE_CODE:
        return _refused("unsupported_grant_type", "Only the device flow is spoken here.")
    found = device_grant_fetch(request.POST.get("device_code", ""))
    if isinstance(found, GrantState):
        return _refused(found.value, _WORDS[found])
    return _fresh(json_answer({"access_token": found, "token_type": "bearer", "scope": "write"}))


def _refused(error: str, words: str) -> HttpResponse:
    return _fresh(json_answer({"error": error, "error_description": words}, 400))


def _fresh(answer: HttpResponse) -> HttpResponse:
    answer["Cache-Control"] = "no-store"
    return answer
