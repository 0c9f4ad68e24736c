"""A client of the agent protocol for simulated agents: a socket and a signing key.

A thousand agents share the processors with the hub. ``http.client`` would take a third of the time
that the hub takes for a heartbeat.
"""

import json
import random
import re
import socket
import time
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hpcfair.bundle import end_bytes
from hpcfair.healthcheck import answer, health_check

_PREFIX = "/api/v1/agent/"
_TIMEOUT_S = 30.0
_READ_BYTES = 2**16
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
#: Status codes of a hub that is starting or busy.
_AGAIN = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE_S = 5.0


class Refused(Exception):
    """The hub refused a request; ``status`` and ``code`` are those of its answer."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code = status, code


@dataclass
class AgentClient:
    """A connection of one device to the hub. A request is repeated until the hub answers it.

    Attributes:
        address: Address of the hub.
        token: Token of the device; "" before it has joined.
        key: Signs the ends of jobs.
        request_s: Seconds of the newest request that was not refused.
    """

    address: str
    token: str
    key: Ed25519PrivateKey
    request_s: float = 0.0
    _connection: socket.socket | None = field(default=None, repr=False)

    @property
    def public_key(self) -> str:
        """The public key as PEM."""
        pem = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem.decode()

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request of the protocol; returns the answer. Raises ``Refused``."""
        content = json.dumps(body).encode()
        return self._repeat("POST", path, content, "application/json")

    def claim(self) -> dict[str, Any]:
        """Claim a search, after answering a health check if one is due. Raises ``Refused``."""
        while True:
            offer = self.post("claim", kinds=["tune"], available_s=None, cached=[])
            if not (check := offer["check"]):
                return offer
            outputs = {"onnxruntime": answer(health_check(check["seed"]))}
            self.post("check", seed=check["seed"], outputs=outputs)

    def put(self, path: str, content: bytes) -> None:
        """Store a blob. Raises ``Refused``."""
        self._repeat("PUT", path, content, "application/octet-stream")

    def end(
        self, job: str, fence: int, outcome: str, content: dict[str, Any], *, key: str = "result"
    ) -> dict[str, Any]:
        """End an attempt with a signed result or failure. Raises ``Refused``."""
        statement = end_bytes(job=job, fence=fence, outcome=outcome, result=content)
        signature = b64encode(self.key.sign(statement)).decode()
        body = {"fence": fence, "outcome": outcome, "signature": signature, key: content}
        return self.post(f"jobs/{job}/end", **body)

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _repeat(self, method: str, path: str, content: bytes, media_type: str) -> dict[str, Any]:
        pause_s = 0.1
        while True:
            began = time.perf_counter()
            try:
                status, body = self._send(method, path, content, media_type)
            except OSError:
                self.close()
                status, body = 503, {}
            if status < 300:
                self.request_s = time.perf_counter() - began
                return body
            if status not in _AGAIN:
                reason = f"{body.get('detail')} {body.get('fields') or ''}"
                raise Refused(status, str(body.get("code")), reason.strip())
            time.sleep(random.uniform(0.5, 1.0) * pause_s)  # noqa: S311
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    def _send(
        self, method: str, path: str, content: bytes, media_type: str
    ) -> tuple[int, dict[str, Any]]:
        url = urlsplit(self.address)
        if self._connection is None:
            place = url.hostname or "", url.port or 80
            self._connection = socket.create_connection(place, timeout=_TIMEOUT_S)
        lines = [
            f"{method} {_PREFIX}{path} HTTP/1.1",
            f"Host: {url.netloc}",
            f"Content-Type: {media_type}",
            f"Content-Length: {len(content)}",
            *([f"Authorization: Bearer {self.token}"] if self.token else []),
        ]
        self._connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
        status, text = self._receive(self._connection)
        try:
            return status, json.loads(text or b"{}")
        except ValueError:
            return status, {"code": "", "detail": text[:200].decode(errors="replace")}

    def _receive(self, connection: socket.socket) -> tuple[int, bytes]:
        """Status and body of an answer, whose length the hub always states. Raises OSError."""
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += _read(connection)
        head, body = data[:end], data[end + 4 :]
        length = _LENGTH.search(head)
        while length and len(body) < int(length[1]):
            body += _read(connection)
        if _CLOSE.search(head):
            self.close()
        return int(head.split(b" ", 2)[1]), body


def _read(connection: socket.socket) -> bytes:
    """The next bytes. Raises OSError, also at the end of the connection."""
    data = connection.recv(_READ_BYTES)
    if not data:
        raise ConnectionResetError("the hub closed the connection")
    return data
