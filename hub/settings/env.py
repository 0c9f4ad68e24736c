"""The one reader of environment variables: typed, and loud about a wrong value.

``hub/checks.py`` reports every problem collected here under the id ``hub.E001`` and stops the
start, so that a misspelt number never becomes a silent default.
"""

import hashlib
import os
import tempfile
from pathlib import Path

#: Problems found so far: variable name to what is wrong with its value.
problems: dict[str, str] = {}

# sockaddr_un holds 108 bytes on Linux, 104 elsewhere, with a final zero.
_LONGEST_SOCKET_PATH = 104

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def text(name: str, default: str) -> str:
    """A string; ``NAME_FILE`` may name a file that holds it, as container secrets do."""
    file = os.environ.get(f"{name}_FILE")
    if file:
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            problems[f"{name}_FILE"] = f"cannot be read: {error.strerror}"
            return default
    return os.environ.get(name, default)


def boolean(name: str, *, default: bool) -> bool:
    """``1 true yes on`` or ``0 false no off``."""
    value = os.environ.get(name, "").lower()
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    if value:
        problems[name] = f"{value!r} is neither true nor false"
    return default


def integer(name: str, default: int, *, low: int, high: int) -> int:
    """A whole number between ``low`` and ``high``."""
    value = os.environ.get(name, "")
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        problems[name] = f"{value!r} is not a whole number"
        return default
    if not low <= number <= high:
        problems[name] = f"{number} is not between {low} and {high}"
        return default
    return number


def words(name: str, default: str) -> list[str]:
    """Comma-separated words."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def folder(name: str, default: Path) -> Path:
    """An absolute path."""
    return Path(os.environ.get(name, "") or default).expanduser().resolve()


def socket_path(data_dir: Path) -> Path:
    """Where the embedded broker listens: in the data folder if the kernel takes so long a path."""
    path = data_dir / "run" / "valkey.sock"
    if len(os.fsencode(path)) < _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"hpcfair-{name}" / "valkey.sock"
