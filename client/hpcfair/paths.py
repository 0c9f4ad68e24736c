"""Validates names from the hub before they become local paths. A client must not have to trust its
hub: every string from a server that becomes a path on this machine passes through this module."""

import re
import unicodedata
from pathlib import Path

from hpcfair.errors import BadInput, UnsafePath

_MAX_PATH = 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MLMODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
# On Windows, device names refer to devices in every folder, with any extension.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def _complaint(path: str) -> str:
    """The reason why ``path`` is not a safe relative path; empty if it is."""
    parts = path.split("/")
    faults = {
        f"is empty or longer than {_MAX_PATH} bytes": not path
        or len(path.encode("utf-8", "surrogatepass")) > _MAX_PATH,
        "holds a control character": any(
            unicodedata.category(character) in {"Cc", "Cs"} for character in path
        ),
        "holds a backslash or colon": "\\" in path or ":" in path,
        "is absolute or has an empty part": "" in parts,
        "holds '.' or '..'": any(part in {".", ".."} for part in parts),
        "holds a device name": any(part.split(".")[0].lower() in _DEVICES for part in parts),
    }
    return next((fault for fault, applies in faults.items() if applies), "")


def safe_join(folder: Path, path: str) -> Path:
    """``folder / path``, where ``path`` is relative, uses ``/`` and stays inside.

    Raises UnsafePath if ``path`` is absolute, leads outside, or contains a backslash, colon or
    control character.
    """
    complaint = _complaint(path)
    if complaint:
        raise UnsafePath(
            f"The file name {path!r} {complaint}.",
            "Nothing was written; report this to the hub's operators.",
        )
    return folder.joinpath(*path.split("/"))


def is_sha256(digest: str) -> bool:
    """Whether it is 64 lower-case hexadecimal digits."""
    return bool(_SHA256.fullmatch(digest))


def is_commit(revision: str | None) -> bool:
    """Whether it is a whole commit id, which always means the same files."""
    return bool(revision and _COMMIT.fullmatch(revision))


def checked_sha256(digest: str) -> str:
    """``digest``, if it is 64 lower-case hexadecimal digits. Raises UnsafePath otherwise:
    it must not become a file name."""
    if not is_sha256(digest):
        raise UnsafePath(f"{digest!r} is not a SHA-256 digest.", "The hub's answer was not used.")
    return digest


def is_name(text: str) -> bool:
    """Whether it has the form ``namespace/name``."""
    return bool(_MLMODEL.fullmatch(text))


def checked_name(name: str) -> str:
    """``name``, if it has the form ``namespace/name``. Raises BadInput if it has another form."""
    if not is_name(name):
        raise BadInput(f"{name!r} is not a model's name.", "Write namespace/name.")
    return name
