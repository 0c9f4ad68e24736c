"""Failures of import jobs, from errors of the client's modules, with what helps on this hub."""

from hpcfair.errors import (
    Corrupt,
    Forbidden,
    HpcfairError,
    HubUnreachable,
    NotFound,
    StorageFailed,
    Unauthenticated,
    Unavailable,
    UnsafePath,
)
from registry.errors import CODES
from registry.services.repository.modelimport import ImportRequest
from workers.device.errors import JobFailure

#: Code of the client to what helps; ``{url}`` and ``{server}`` are those of the origin.
_HINTS = {
    "access_gated": "Ask for access on {url}; then import it again with your token for {server}.",
    "model_not_found": "Check its name. If it is private, give your token for {server}.",
    "revision_not_found": "Name a branch, a tag or a commit id of {url}, or leave it out.",
    "license_missing": "If you were granted a license, import it again and state it.",
    "files_edited": "To replace them, import it again and choose to. The history keeps them.",
    "model_exists": "Choose another name for the copy.",
    "origin_not_free": "Make the model private, or state that you may publish it.",
}

_ENDS: dict[type[HpcfairError], tuple[str, str]] = {
    HubUnreachable: ("infrastructure", "origin_unavailable"),
    Unavailable: ("infrastructure", "origin_unavailable"),
    StorageFailed: ("infrastructure", "storage_full"),
    Corrupt: ("invalid", "digest_mismatch"),
    UnsafePath: ("invalid", "invalid_path"),
}


def failure_of(error: HpcfairError, request: ImportRequest, *, has_token: bool) -> JobFailure:
    """The failure of the job. A server that does not answer may do so later."""
    kind, code = _kind_of(error)
    hint = _HINTS.get(code if code in _HINTS else error.code)
    if hint is None:
        # Other hints name settings and options of the client.
        hint = "" if not isinstance(error, Corrupt) else "Its copy there may be damaged."
    if code == "access_gated" and has_token:
        hint = "The account of your token has no access. " + hint
    text = f"{error.detail} {hint.format(url=request.url, server=request.server)}"
    return JobFailure(kind, code, text.strip())


def _kind_of(error: HpcfairError) -> tuple[str, str]:
    """Failure class and code."""
    if error.code == "answer_invalid":
        return "invalid", "origin_unavailable"
    for kind, end in _ENDS.items():
        if isinstance(error, kind):
            return end
    if error.code in CODES:
        return "invalid", error.code
    if isinstance(error, NotFound | Unauthenticated):
        return "invalid", "model_not_found"
    return "invalid", "access_gated" if isinstance(error, Forbidden) else "import_refused"
