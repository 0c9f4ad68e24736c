"""A server of the Hugging Face Hub's protocol with one model, that can also lie."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "far/net"
#: Paths that are large files.
_LARGE = (".onnx", ".bin")


@dataclass
class OriginServer:
    """What the server states and does.

    Attributes:
        versions: Commit id to its files; the last one is the head of ``main``.
        token: Files and facts are for its bearer only, if any.
        corrupt: Paths of which other bytes are sent than stated.
        elsewhere: Where bytes are redirected to.
        cut: Break off after so many bytes of the next large file, and answer nothing afterwards.
        is_away: Whether it breaks every connection.
        ranges: Range headers of requests for large files.
        requests: Paths of requests, with the token of each.
    """

    versions: dict[str, dict[str, bytes]] = field(default_factory=dict)
    license: str = "apache-2.0"
    token: str = ""
    corrupt: frozenset[str] = frozenset()
    elsewhere: str = ""
    cut: int = 0
    is_away: bool = False
    ranges: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def commit(self, files: dict[str, bytes]) -> str:
        """A new head; returns its commit id."""
        commit = _sha1(repr((len(self.versions), files)).encode())
        self.versions[commit] = files
        return commit

    def fetched(self) -> list[str]:
        """Paths of the files whose bytes were requested."""
        return [path.split("/resolve/")[1][41:] for path, _ in self.requests if "/resolve/" in path]

    def reply(self, path: str, token: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to a request."""
        self.requests.append((path, token))
        if self.token and token != self.token:
            return 401, {"X-Error-Code": "GatedRepo"}, b'{"error": "Access is restricted"}'
        if match := re.fullmatch(rf"/api/models/{NAME}(?:/revision/(.+))?", path):
            return self._info(unquote(match[1] or "main"))
        if match := re.fullmatch(rf"/api/models/{NAME}/tree/([0-9a-f]+)", path):
            entries = [entry(*item) for item in self.versions[match[1]].items()]
            return 200, {}, json.dumps(entries).encode()
        if match := re.fullmatch(rf"/{NAME}/resolve/([0-9a-f]+)/(.+)", path):
            return self._file(path, match[1], unquote(match[2]))
        return 404, {"X-Error-Code": "RepoNotFound"}, b'{"error": "Repository not found"}'

    def _info(self, rev: str) -> tuple[int, dict[str, str], bytes]:
        commit = [*self.versions][-1] if rev == "main" else rev
        if commit not in self.versions:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b'{"error": "Invalid rev id"}'
        card = {"license": self.license} if self.license else {}
        gated = "auto" if self.token else False
        info = {"id": NAME, "sha": commit, "cardData": card, "private": False, "gated": gated}
        return 200, {}, json.dumps(info).encode()

    def _file(self, path: str, commit: str, name: str) -> tuple[int, dict[str, str], bytes]:
        if self.elsewhere:
            return 302, {"Location": self.elsewhere + path}, b""
        data = self.versions[commit][name]
        return 200, {}, data[::-1] if name in self.corrupt else data


def entry(path: str, data: bytes) -> dict[str, Any]:
    """The line of a file in the protocol's list."""
    oid = _sha1(b"blob %d\0" % len(data) + data)
    line: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": oid}
    if path.endswith(_LARGE):
        line["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return line


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


@contextmanager
def serving(origin: OriginServer) -> Iterator[OriginServer]:
    """``origin`` at an address of this machine, while the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if origin.is_away:
                return
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, headers, body = origin.reply(urlsplit(self.path).path, token)
            if status == 200 and "/resolve/" in self.path and self.path.endswith(_LARGE):
                range_header = self.headers.get("Range", "")
                origin.ranges.append(range_header)
                if start := re.fullmatch(r"bytes=(\d+)-", range_header):
                    whole, first = len(body), int(start[1])
                    headers = {"Content-Range": f"bytes {first}-{whole - 1}/{whole}"}
                    status, body = 206, body[first:]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if 0 < origin.cut < len(body) and self.path.endswith(_LARGE):
                body, origin.is_away = body[: origin.cut], True
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        origin.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield origin
        finally:
            server.shutdown()
            thread.join()
