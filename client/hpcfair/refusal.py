"""Errors for answers that refuse a request, and for requests without an answer."""

from typing import Any, cast

import httpx

from hpcfair.errors import HubError, HubUnreachable, Unauthenticated, class_of

#: ``X-Error-Code`` of the Hugging Face Hub's protocol to the code of a hub.
_WIRE_CODES = {
    "RepoNotFound": "model_not_found",
    "RevisionNotFound": "revision_not_found",
    "EntryNotFound": "file_not_found",
    "GatedRepo": "access_gated",
}
#: Follows the hub's remedy, which is written for all clients, for requests without a valid token.
_SIGN_IN = "Run `hpcfair login`, or set HPCFAIR_TOKEN."


class HubAnswer(dict[str, Any]):
    """A JSON object of the hub. A member that is missing raises HubUnreachable: what answered is
    no hub, or another version of it."""

    def __missing__(self, key: str) -> Any:
        raise invalid_answer(f"it has no {key!r}")


def invalid_answer(reason: str) -> HubUnreachable:
    """The error for an answer that lacks something."""
    return HubUnreachable(
        f"The hub's answer is not valid: {reason}.",
        "Check that HPCFAIR_URL is a hub's address, and update hpcfair: pip install -U hpcfair",
        code="answer_invalid",
    )


def answer_of(response: httpx.Response, hub: str) -> HubAnswer | None:
    """The JSON object of a response that was read; ``None`` if it is empty. Raises
    HubUnreachable if it is something else."""
    if not response.content:
        return None
    try:
        data = response.json()
    # Deeply nested JSON raises RecursionError.
    except (ValueError, RecursionError) as error:
        raise _no_object(response, hub) from error
    if not isinstance(data, dict):
        raise _no_object(response, hub)
    return HubAnswer(data)


def refusal(response: httpx.Response) -> HubError:
    """The error for a response with an error status: a problem document (RFC 9457), an OAuth error
    (RFC 6749), one of the Hugging Face Hub's protocol, or something of a proxy."""
    try:
        problem = response.read() and response.json()
    except (ValueError, RecursionError, httpx.RequestError):
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    status = response.status_code
    wire = _WIRE_CODES.get(response.headers.get("X-Error-Code", ""))
    code = str(problem.get("code") or wire or problem.get("error") or f"http_{status}")
    detail = (
        problem.get("detail") or problem.get("error_description") or (wire and problem.get("error"))
    )
    fields = problem.get("fields")
    kind = class_of(code, status)
    hint = str(problem.get("hint") or "")
    if code == "not_authenticated":
        # The hub describes the header that this client sends by itself.
        hint = _SIGN_IN
    elif issubclass(kind, Unauthenticated):
        hint = f"{hint} {_SIGN_IN}".strip()
    return kind(
        str(detail or f"{plain(response.url)} answered {status}."),
        hint,
        code=code,
        status=status,
        fields=cast("dict[str, str]", fields) if isinstance(fields, dict) else None,
        request_id=response.headers.get("X-Request-Id") or response.request.headers["X-Request-Id"],
    )


def unreachable(hub: str, error: httpx.RequestError) -> HubUnreachable:
    """The error for a request that got no answer."""
    what = str(error) or type(error).__name__
    if isinstance(error, httpx.LocalProtocolError):
        return HubUnreachable(
            f"The request to {hub} could not be sent whole: {what}.",
            "If a file changed while it was sent, try again.",
        )
    return HubUnreachable(
        f"The hub at {hub} does not answer: {what}.",
        "Check the address and the network; HPCFAIR_URL says where the hub is.",
    )


def broken(hub: str, error: httpx.RequestError) -> HubUnreachable:
    """The error for an answer that ended early."""
    what = str(error) or type(error).__name__
    return HubUnreachable(
        f"The connection to the hub at {hub} broke: {what}.",
        "Try again: a download continues where it stopped.",
    )


def plain(url: httpx.URL) -> str:
    """A URL without its query, which may contain a signature."""
    return str(url.copy_with(query=None))


def _no_object(response: httpx.Response, hub: str) -> HubUnreachable:
    return HubUnreachable(
        f"{plain(response.url)} answered with something that is not JSON of a hub.",
        f"Is {hub} a hub? Set HPCFAIR_URL or run `hpcfair login`.",
    )
