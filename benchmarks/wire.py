"""The requests of the Hugging Face protocol that prepare benchmarks or are timed directly."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.load import Connection

_LFS = "application/vnd.git-lfs+json"


@dataclass(frozen=True)
class Hub:
    """A hub with the token of one user."""

    address: str
    token: str

    def create(self, repository: str) -> None:
        """Create a public MLModel."""
        namespace, _, name = repository.partition("/")
        self._post("/api/repos/create", {"name": name, "organization": namespace})

    def put_large(self, repository: str, data: bytes | bytearray) -> float:
        """Store bytes as git-lfs does; returns the seconds until the acknowledgement."""
        sha256 = hashlib.sha256(data).hexdigest()
        batch = {
            "operation": "upload",
            "transfers": ["basic"],
            "objects": [{"oid": sha256, "size": len(data)}],
        }
        answer = self._post(f"/{repository}.git/info/lfs/objects/batch", batch, content_type=_LFS)
        upload = answer["objects"][0]["actions"]["upload"]
        with Connection(self.address) as connection:
            path = upload["href"].removeprefix(self.address)
            headers = {"Content-Type": "application/octet-stream", **upload.get("header", {})}
            return connection.ask("PUT", path, headers, data).last_byte_s

    def commit(
        self, repository: str, *, large: Mapping[str, bytes] = {}, small: Mapping[str, bytes] = {}
    ) -> None:
        """Commit files: ``large`` ones that are stored already, and ``small`` ones inline."""
        lines: list[tuple[str, dict[str, Any]]] = [("header", {"summary": "Add files"})]
        for path, data in large.items():
            oid = hashlib.sha256(data).hexdigest()
            lines.append(
                ("lfsFile", {"path": path, "algo": "sha256", "oid": oid, "size": len(data)})
            )
        for path, data in small.items():
            content = base64.b64encode(data).decode()
            lines.append(("file", {"path": path, "content": content, "encoding": "base64"}))
        body = b"".join(
            json.dumps({"key": key, "value": value}).encode() + b"\n" for key, value in lines
        )
        self._send(f"/api/models/{repository}/commit/main", body, "application/x-ndjson")

    def _post(self, path: str, body: Any, content_type: str = "application/json") -> Any:
        return json.loads(self._send(path, json.dumps(body).encode(), content_type))

    def _send(self, path: str, body: bytes, content_type: str) -> bytes:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        with Connection(self.address) as connection:
            return connection.ask("POST", path, headers, body).content
