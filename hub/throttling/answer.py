"""Header fields of limits, and the refusal 429.

The fields are those of draft-ietf-httpapi-ratelimit-headers-10::

    RateLimit-Policy: "search";q=600;w=300
    RateLimit: "search";r=0;t=12

``r`` requests are left; ``t`` seconds until there is one more if there is none, else until all are
available. Clients of the Hugging Face Hub read both, and wait ``t`` seconds after a 429.
"""

import math

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from hub.problems import problem_answer
from hub.refusals import refusal
from hub.throttling.bucket import BucketState
from hub.throttling.limits import Limit
from registry.errors import RateLimited

_GIT = ("/git-upload-pack", "/git-receive-pack")


def describe(response: HttpResponseBase, limit: Limit, quota: int, level: BucketState) -> None:
    """Add the header fields of ``limit`` to a response."""
    response.headers["RateLimit-Policy"] = f'"{limit.name}";q={quota};w={limit.window_s}'
    response.headers["RateLimit"] = (
        f'"{limit.name}";r={level.remaining};t={max(1, math.ceil(level.reset_s))}'
    )


def refuse(request: HttpRequest, limit: Limit, detail: str, wait_s: float) -> HttpResponse:
    """429 in the form that the client reads: a page, text for git, or a problem document."""
    seconds = max(1, math.ceil(wait_s))
    hint = f"Try again in {seconds} s."
    if not request.headers.get("Authorization") and limit.account_setting:
        hint += " Accounts have higher limits: sign in, or send a token."
    error = RateLimited("rate_limited", detail, hint, retry_after_s=seconds)
    if request.path.endswith(_GIT):
        response = HttpResponse(f"{error}\n", status=429, content_type="text/plain; charset=utf-8")
    elif "text/html" in request.headers.get("Accept", "") and not request.path.startswith("/api/"):
        response = refusal(request, error)
    else:
        response = problem_answer(error, 429, more={"violated-policies": [limit.name]})
    response.headers["Retry-After"] = str(seconds)
    response.headers["Cache-Control"] = "no-store"
    return response
