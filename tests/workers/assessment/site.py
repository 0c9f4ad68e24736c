"""A site for assessors to visit: a real HTTP server that answers as a test says."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        whole: Total length that ranges tell, if not that of the body.
        is_cut: The connection ends before the last byte.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    whole: int | None = None
    is_cut: bool = False


Answer = Callable[[Mapping[str, str]], Reply]


@dataclass
class Site:
    """What is there, and what was asked for.

    Attributes:
        answers: Path with query to what answers, given the request's headers.
        asked: Method, path with query, and headers of each request.
    """

    port: int = 0
    answers: dict[str, Reply | Answer] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, path: str, headers: Mapping[str, str]) -> Reply:
        """What ``path`` answers."""
        found = self.answers.get(path, Reply(404))
        return found(headers) if callable(found) else found


@contextmanager
def visited() -> Iterator[Site]:
    """A site on a port of its own."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            headers = dict(self.headers)
            site.asked.append((self.command, self.path, headers))
            reply = site.reply(self.path, headers)
            body, status = reply.body, reply.status
            wanted = headers.get("Range", "").removeprefix("bytes=-")
            if wanted and status == 200:
                status, body = 206, body[-int(wanted) :]
            self.send_response(status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if status == 206:
                whole = len(reply.body) if reply.whole is None else reply.whole
                self.send_header("Content-Range", f"bytes {whole - len(body)}-{whole - 1}/{whole}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                try:
                    self.wfile.write(body[:-1] if reply.is_cut else body)
                except OSError:
                    # Whoever read has read enough.
                    return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
