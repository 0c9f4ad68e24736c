"""A hub that answers as a test prescribes, for faults that a real hub cannot produce on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PREFIX = "/api/v1/agent/"


@dataclass(frozen=True)
class Request:
    """A request as it arrived; ``path`` is below :data:`PREFIX`."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


#: Status and JSON of an answer; the connection is closed without an answer in place of ``None``.
Answer = tuple[int, Any] | None


@dataclass
class ScriptedHub:
    """An HTTP server on this machine.

    Attributes:
        answer: Called for each request, in a thread of its own.
        requests: All requests so far.
    """

    url: str
    answer: Callable[[Request], Answer]
    requests: list[Request] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


def value(_: Request) -> Answer:
    """The answer of a hub that accepts everything."""
    return 200, {"value": {}}


def problem(status: int, code: str) -> Answer:
    return status, {"code": code, "detail": f"It is {code}.", "hint": ""}


@contextmanager
def scripted_hub(answer: Callable[[Request], Answer] = value) -> Iterator[ScriptedHub]:
    """A hub during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(
                self.command,
                self.path.removeprefix(PREFIX),
                {name.lower(): text for name, text in self.headers.items()},
                content,
            )
            hub.requests.append(request)
            answered = hub.answer(request)
            if answered is None:
                self.close_connection = True
                return
            status, document = answered
            data = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = _serve  # noqa: N815  as the base names them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub = ScriptedHub(f"http://127.0.0.1:{server.server_address[1]}", answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
