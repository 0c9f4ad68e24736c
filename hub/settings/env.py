"""Typed readers of environment variables.

Each reader registers a variable's name, default and description in ``variables``, from which
docs/settings.md is generated. A value that cannot be read is added to ``problems``, and the default
is returned: ``hub/checks.py`` then stops the start with ``hub.E001``.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that was read.

    Attributes:
        kind: Type and range, in words.
        default: As documented; "" if there is none.
        about: Description, as Markdown.
        section: Heading of its group.
    """

    name: str
    kind: str
    default: str
    about: str
    section: str


#: Variables in the order in which they were first read.
variables: dict[str, Variable] = {}
#: Variable name to the problem with its value.
problems: dict[str, str] = {}

#: Names of this machine for itself, as in the header field Host.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

# sockaddr_un holds 108 bytes on Linux, 104 elsewhere, with a final zero.
_LONGEST_SOCKET_PATH = 104

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class SettingsSection:
    """Reads the variables of one group."""

    def __init__(self, title: str) -> None:
        self._title = title

    def text(self, name: str, default: str, *, about: str, shown: str | None = None) -> str:
        """A string; ``NAME_FILE`` may name a file that holds it, as container secrets do.

        ``shown``: how the default is documented, if not literally.
        """
        self._register(name, "text", default if shown is None else shown, about)
        file = os.environ.get(f"{name}_FILE")
        if file:
            try:
                return Path(file).read_text().strip()
            except OSError as error:
                problems[f"{name}_FILE"] = f"cannot be read: {error.strerror}"
                return default
        return os.environ.get(name, default)

    def boolean(self, name: str, *, default: bool, about: str) -> bool:
        """``1 true yes on`` or ``0 false no off``."""
        self._register(name, "true or false", "true" if default else "false", about)
        value = os.environ.get(name, "").lower()
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        if value:
            problems[name] = f"{value!r} is neither true nor false"
        return default

    def integer(self, name: str, default: int, *, low: int, high: int, about: str) -> int:
        """A whole number between ``low`` and ``high``."""
        self._register(name, f"whole number, {low} to {high}", str(default), about)
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

    def choice(self, name: str, default: str, *, among: tuple[str, ...], about: str) -> str:
        """One of the words ``among``."""
        self._register(name, f"one of {', '.join(f'`{word}`' for word in among)}", default, about)
        value = os.environ.get(name, "") or default
        if value not in among:
            problems[name] = f"{value!r} is none of {', '.join(among)}"
            return default
        return value

    def words(self, name: str, default: str, *, about: str, shown: str) -> list[str]:
        """Comma-separated words."""
        self._register(name, "words separated by commas", shown, about)
        value = os.environ.get(name, default)
        return [word.strip() for word in value.split(",") if word.strip()]

    def folder(self, name: str, default: Path, *, about: str, shown: str) -> Path:
        """An absolute path."""
        self._register(name, "folder", shown, about)
        return Path(os.environ.get(name, "") or default).expanduser().resolve()

    def _register(self, name: str, kind: str, default: str, about: str) -> None:
        variables.setdefault(name, Variable(name, kind, default, about, self._title))


def host_of(url: str) -> str:
    """The host name of an address, as in the header field Host; "" if it is malformed."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return f"[{host}]" if ":" in host else host


def socket_path(data_dir: Path) -> Path:
    """Unix socket of the embedded broker: in the data folder, unless that path is too long."""
    path = data_dir / "run" / "valkey.sock"
    if len(os.fsencode(path)) < _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"hpcfair-{name}" / "valkey.sock"
