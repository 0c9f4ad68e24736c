"""Several files at once, over real connections: one fails, another one is silent."""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from hpcfair import downloadthreads
from hpcfair.cache import Cache
from hpcfair.checkout import checkout
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.errors import Corrupt
from hpcfair.partial import STAGING
from hpcfair.transport import Transport
from hpcfair.types import File

CONTENTS = {f"part-{number}.bin": bytes([number]) * 3_000_000 for number in range(3)}
FILES = [
    File(path, hashlib.sha256(data).hexdigest(), len(data), f"/{path}")
    for path, data in CONTENTS.items()
]


@dataclass
class Server:
    """Serves files over loopback.

    Attributes:
        data: Path to what it sends.
        together: Answers wait until so many requests have come.
        silent: Path of which it sends half, and the rest when ``wake`` is set.
        requests: Path and Range header of each request.
    """

    url: str = ""
    data: dict[str, bytes] = field(default_factory=lambda: dict(CONTENTS))
    together: threading.Barrier | None = None
    silent: str = ""
    wake: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, str]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Server

    def do_GET(self) -> None:  # the name http.server wants
        name, range_header = self.path[1:], self.headers.get("Range", "")
        self.state.requests.append((name, range_header))
        if self.state.together:
            self.state.together.wait(10)
        data = self.state.data[name]
        start = re.fullmatch(r"bytes=(\d+)-", range_header)
        first = int(start[1]) if start else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        half = len(data) // 2
        self.wfile.write(data[first:half])
        if name == self.state.silent:
            self.state.wake.wait(10)
        self.wfile.write(data[max(first, half) :])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(listen: Callable[[type[BaseHTTPRequestHandler]], str]) -> Iterator[Server]:
    state = Server()
    handler = type("Serving", (Handler,), {"state": state})
    state.url = listen(handler)
    yield state
    state.wake.set()


@pytest.fixture
def http(server: Server, tmp_path: Path) -> Iterator[Transport]:
    with Transport(Config(server.url, None, tmp_path / "cache")) as transport:
        yield transport


def test_several_files_are_requested_at_once_and_each_content_once(
    server: Server, http: Transport, tmp_path: Path
) -> None:
    server.together = threading.Barrier(len(FILES))
    cache, folder = Cache(tmp_path / "cache"), tmp_path / "folder"
    again = File("copy/again.bin", FILES[0].sha256, FILES[0].size_bytes, FILES[0].url)

    checkout(http, cache, [*FILES, again], folder, what="lab/net")

    contents = {path: (folder / path).read_bytes() for path in (*CONTENTS, again.path)}
    assert contents == CONTENTS | {again.path: CONTENTS[FILES[0].path]}
    assert sorted(server.requests) == [(path, "") for path in CONTENTS]
    assert not (folder / STAGING).exists()
    tree = fetch_tree(http, cache, FILES, what="lab/net")
    assert {path.name: path.read_bytes() for path in tree.iterdir()} == CONTENTS


def test_a_failure_is_not_held_up_by_a_silent_connection_whose_bytes_are_kept(
    server: Server, http: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloadthreads, "_STOP_S", 0.1)
    damaged, silent, _ = CONTENTS
    server.data[damaged], server.silent = b"!" * len(CONTENTS[damaged]), silent
    cache, folder = Cache(tmp_path / "cache"), tmp_path / "folder"

    began = time.monotonic()
    with pytest.raises(Corrupt, match=damaged):
        checkout(http, cache, FILES, folder, what="lab/net")

    assert time.monotonic() - began < 5
    assert not (folder / silent).exists()
    server.wake.set()
    digest = hashlib.sha256(CONTENTS[silent]).hexdigest()
    deadline = time.monotonic() + 10
    while not [*(folder / STAGING).glob(f"{digest}.*.rest")] and time.monotonic() < deadline:
        time.sleep(0.01)
    server.data[damaged] = CONTENTS[damaged]
    server.requests.clear()
    checkout(http, cache, FILES, folder, what="lab/net")
    assert {path: (folder / path).read_bytes() for path in CONTENTS} == CONTENTS
    ranges = dict(server.requests)
    assert ranges[damaged] == ""
    assert re.fullmatch(r"bytes=[1-9]\d+-", ranges[silent])
