"""Answers that scripts of other sites may read, too (https://fetch.spec.whatwg.org/#http-cors-protocol).

Only of what anybody gets alike: never is an answer to somebody in particular handed on.
"""

from typing import TypeVar

from django.http.response import HttpResponseBase

Response = TypeVar("Response", bound=HttpResponseBase)


def shared(response: Response) -> Response:
    """``response``, which anybody gets alike, for scripts of other sites as well."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    # Among them Link and ETag, which scripts are not shown unless told so.
    response.headers["Access-Control-Expose-Headers"] = "*"
    return response


def shared_if_public(response: Response) -> Response:
    """``response`` as :func:`shared` has it where shared caches may keep it, else as it is."""
    is_public = response.headers.get("Cache-Control", "").startswith("public")
    return shared(response) if is_public else response
