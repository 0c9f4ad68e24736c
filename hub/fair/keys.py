"""``/.well-known/hpcfair-keys.json``: the hub's keys, as a signed document and in PEM."""

import json

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hub.fair.headers import harmless
from hub.fair.public import public
from hub.refusals import refusing
from registry.attestations.keys import SigningUnavailable
from registry.errors import NotFound, Unavailable
from registry.selectors.trust.key import key_get, signed_key_list
from registry.services.trust.key import current_key


@require_safe
@refusing
def keys(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """The list of keys in a DSSE envelope, signed by the current one."""
    try:
        _, key = current_key()
        envelope = signed_key_list(key)
    except SigningUnavailable as error:
        raise Unavailable("signing_unavailable", str(error)) from error
    response = harmless(HttpResponse(json.dumps(envelope), content_type="application/json"))
    # Each answer has another signature, and a revocation must be seen soon.
    response.headers["Cache-Control"] = "no-store"
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@require_safe
@refusing
def pem(request: HttpRequest, keyid: str) -> HttpResponse:
    """One public key in PEM, for other tools."""
    key = key_get(keyid)
    if key is None:
        raise NotFound("page_not_found", f"There is no key {keyid}.")
    return public(request, key.public_pem.encode(), "application/x-pem-file")
