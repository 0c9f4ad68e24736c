"""A client of the agent protocol for simulated agents: the standard library and a signing key."""

import http.client
import json
import random
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
    _connection: http.client.HTTPConnection | None = field(default=None, repr=False)

    @property
    def public_key(self) -> str:
        """The public key as PEM."""
        pem = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem.decode()

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Send a request of the protocol; returns the answer. Raises ``Refused``."""
        content = json.dumps(body).encode()
        return self._repeat("POST", path, content, {"Content-Type": "application/json"})

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
        self._repeat("PUT", path, content, {"Content-Type": "application/octet-stream"})

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

    def _repeat(
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> dict[str, Any]:
        pause_s = 0.1
        while True:
            began = time.perf_counter()
            try:
                status, body = self._send(method, path, content, headers)
            except (OSError, http.client.HTTPException):
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
        self, method: str, path: str, content: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        if self._connection is None:
            url = urlsplit(self.address)
            self._connection = http.client.HTTPConnection(
                url.hostname or "", url.port, timeout=_TIMEOUT_S
            )
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._connection.request(method, _PREFIX + path, content, headers | own)
        response = self._connection.getresponse()
        text = response.read()
        try:
            return response.status, json.loads(text or b"{}")
        except ValueError:
            return response.status, {"code": "", "detail": text[:200].decode(errors="replace")}
