"""A minimal HTTP client: one socket, no copies beyond the kernel's. All compared servers are
measured with this client, so its cost is equal for all of them."""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_BUFFER_BYTES = 1 << 20
_PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request; times in seconds since before it was sent, large bodies dropped."""

    status: int
    headers: Mapping[str, str]
    size_bytes: int
    first_byte_s: float
    last_byte_s: float
    content: bytes


@dataclass
class Connection:
    """A persistent connection to ``http://host:port``, opened again after an answer with
    ``Connection: close``: servers close a connection after a number of requests."""

    address: str
    _socket: socket.socket = field(init=False)
    _buffer: bytearray = field(default_factory=lambda: bytearray(_BUFFER_BYTES))

    def __post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        url = urlsplit(self.address)
        assert url.hostname
        assert url.port
        self._socket = socket.create_connection((url.hostname, url.port), timeout=_PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | bytearray = b"",
    ) -> Answer:
        """One request; the body of a large answer is received and dropped. Raises RuntimeError if
        the answer is an error or incomplete."""
        head = [f"{method} {path} HTTP/1.1", f"Host: {urlsplit(self.address).netloc}"]
        head += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body or method != "GET":
            head.append(f"Content-Length: {len(body)}")
        request = "\r\n".join([*head, "", ""]).encode()
        began = time.perf_counter()
        self._socket.sendall(request)
        if body:
            self._socket.sendall(body)
        answer = self._receive(began)
        if answer.headers.get("connection", "").lower() == "close":
            self._socket.close()
            self._open()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.content[:300]!r}")
        return answer

    def _receive(self, began: float) -> Answer:
        head = b""
        first_byte_s = 0.0
        while b"\r\n\r\n" not in head:
            piece = self._socket.recv(65536)
            if not piece:
                raise RuntimeError("the server hung up")
            first_byte_s = first_byte_s or time.perf_counter() - began
            head += piece
        head, _, body = head.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        size = int(headers.get("content-length", 0))
        left = size - len(body)
        keep = bytearray(body) if size <= _BUFFER_BYTES else None
        while left > 0:
            count = self._socket.recv_into(self._buffer, min(left, _BUFFER_BYTES))
            if count == 0:
                raise RuntimeError("the server hung up")
            if keep is not None:
                keep += self._buffer[:count]
            left -= count
        last_byte_s = time.perf_counter() - began
        return Answer(
            int(first.split()[1]), headers, size, first_byte_s, last_byte_s, bytes(keep or b"")
        )
