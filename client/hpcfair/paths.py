"""Names that come from elsewhere, made safe to become paths here.

The hub checks what it stores, but a client must not have to trust its hub: everything a server
says that ends in a path on this machine passes through this module.
"""

import re
import unicodedata
from pathlib import Path

from hpcfair.errors import BadInput, UnsafePath

_MAX_PATH = 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MLMODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
# Device names mean devices in every folder of Windows, whatever their ending.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def _complaint(path: str) -> str:
    """Why ``path`` is not a safe relative path; empty where it is one."""
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
    return next((fault for fault, found in faults.items() if found), "")


def safe_join(folder: Path, path: str) -> Path:
    """``folder / path``, where ``path`` is relative, uses ``/`` and stays inside.

    Raises:
        UnsafePath: ``path`` is absolute, climbs out, or holds a backslash, colon or control
            character.
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


def checked_sha256(digest: str) -> str:
    """``digest`` itself, being 64 lower-case hexadecimal digits.

    Raises:
        UnsafePath: it is anything else, so it must not become a file name.
    """
    if not is_sha256(digest):
        raise UnsafePath(f"{digest!r} is not a SHA-256 digest.", "The hub's answer was not used.")
    return digest


def checked_name(name: str) -> str:
    """``name`` itself, being ``namespace/name``.

    Raises:
        BadInput: it has another form.
    """
    if not _MLMODEL.fullmatch(name):
        raise BadInput(f"{name!r} is not a model's name.", "Write namespace/name.")
    return name
