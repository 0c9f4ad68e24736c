"""Large files over real connections: broken off, gone on with, refused, kept once."""

import errno
import hashlib
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from hpcfair import body
from hpcfair.cache import Cache
from hpcfair.checkout import checkout
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.errors import Corrupt, HubUnreachable
from hpcfair.exporters.files import export_path
from hpcfair.partial import STAGING
from hpcfair.retry import Retry
from hpcfair.transport import Transport
from hpcfair.types import File

# Large enough to be read past the parser, and no multiple of anything.
DATA = bytes(range(251)) * 40_009
FILE = File("model.onnx", hashlib.sha256(DATA).hexdigest(), len(DATA), "/file")


@dataclass
class Server:
    """Serves one file over loopback.

    Attributes:
        data: What it sends.
        ranges: Whether it understands Range.
        framed: Send chunked, without a length.
        cuts: Break off after so many bytes of the next bodies.
        pause_s: Send one byte after each of such pauses.
        requests: The Range headers so far.
    """

    url: str = ""
    data: bytes = DATA
    ranges: bool = True
    framed: bool = False
    cuts: list[int] = field(default_factory=list)
    pause_s: float = 0.0
    requests: list[str] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Server

    def do_GET(self) -> None:  # the name http.server wants
        range_header = self.headers.get("Range", "")
        self.state.requests.append(range_header)
        start = re.fullmatch(r"bytes=(\d+)-", range_header) if self.state.ranges else None
        body = self.state.data[int(start[1]) if start else 0 :]
        self.send_response(206 if start else 200)
        if start:
            total = len(self.state.data)
            self.send_header("Content-Range", f"bytes {start[1]}-{total - 1}/{total}")
        if self.state.framed:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.state.cuts:
            body = body[: self.state.cuts.pop(0)]
            self.close_connection = True
        if self.state.framed:
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        try:
            while self.state.pause_s and body:
                self.wfile.write(body[:1])
                body = body[1:]
                time.sleep(self.state.pause_s)
            self.wfile.write(body)
        except ConnectionError:
            """The client has given up."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(listen: Callable[[type[BaseHTTPRequestHandler]], str]) -> Server:
    state = Server()
    handler = type("Serving", (Handler,), {"state": state})
    state.url = listen(handler)
    return state


@pytest.fixture
def http(server: Server, tmp_path: Path) -> Iterator[Transport]:
    config = Config(server.url, None, tmp_path / "cache")
    with Transport(config, retry=Retry(attempts=1), sleep=lambda _: None) as transport:
        yield transport


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("framed", [False, True])
def test_a_large_file_comes_whole_and_the_connection_serves_on(
    server: Server, http: Transport, cache: Cache, tmp_path: Path, *, framed: bool
) -> None:
    server.framed = framed

    for folder in (tmp_path / "first", tmp_path / "second"):
        checkout(http, cache, [FILE], folder, what="lab/tiny")
        assert (folder / "model.onnx").read_bytes() == DATA
        assert names(folder) == ["model.onnx"]


@pytest.mark.parametrize("cut", [0, 1000, 5 * 2**20])
def test_a_connection_lost_on_the_way_is_gone_on_with(
    server: Server, http: Transport, cache: Cache, tmp_path: Path, cut: int
) -> None:
    server.cuts = [cut]

    checkout(http, cache, [FILE], tmp_path, what="lab/tiny")

    assert (tmp_path / "model.onnx").read_bytes() == DATA
    assert server.requests == ["", f"bytes={cut}-" if cut else ""]


def test_what_came_before_a_failure_is_not_asked_for_again(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    server.cuts = [6 * 2**20, 0, 0, 0]
    with pytest.raises(HubUnreachable):
        checkout(http, cache, [FILE], tmp_path / "here", what="lab/tiny")
    assert names(tmp_path / "here") == [STAGING]
    (tmp_path / "here" / "README.md").write_text("mine")
    assert list(export_path(tmp_path / "here", None, tmp_path).files) == ["README.md"]
    (tmp_path / "here" / "README.md").unlink()
    server.requests.clear()

    checkout(http, cache, [FILE], tmp_path / "here", what="lab/tiny")

    assert (tmp_path / "here" / "model.onnx").read_bytes() == DATA
    assert server.requests == [f"bytes={6 * 2**20}-"]
    assert names(tmp_path / "here") == ["model.onnx"]


def test_a_server_that_sends_too_slowly_is_given_up_and_resumed(
    server: Server, http: Transport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "_LEAST_S", 0.05)
    server.pause_s = 0.01

    with pytest.raises(HubUnreachable, match=r"only \d+ bytes came"):
        checkout(http, Cache(tmp_path / "cache"), [FILE], tmp_path / "model", what="lab/tiny")

    # Slow bytes are no progress that is worth further attempts, but are kept.
    assert len(server.requests) == 3
    server.pause_s = 0.0
    checkout(http, Cache(tmp_path / "cache"), [FILE], tmp_path / "model", what="lab/tiny")
    assert (tmp_path / "model" / "model.onnx").read_bytes() == DATA
    assert re.fullmatch("bytes=[1-9][0-9]*-", server.requests[-1])


def test_a_server_without_ranges_starts_over(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    server.cuts, server.ranges = [5 * 2**20], False

    checkout(http, cache, [FILE], tmp_path, what="lab/tiny")

    assert (tmp_path / "model.onnx").read_bytes() == DATA


@pytest.mark.parametrize("rest", [b"\0" * 1000, b"\0" * len(DATA), DATA + b"more"])
def test_a_damaged_rest_is_thrown_away(
    http: Transport, cache: Cache, tmp_path: Path, rest: bytes
) -> None:
    staged = tmp_path / "here" / STAGING
    staged.mkdir(parents=True)
    (staged / f"{FILE.sha256}.old.rest").write_bytes(rest)

    checkout(http, cache, [FILE], tmp_path / "here", what="lab/tiny")

    assert (tmp_path / "here" / "model.onnx").read_bytes() == DATA


def test_wrong_bytes_replace_nothing(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    server.data = DATA[:-1] + b"!"
    (tmp_path / "model.onnx").write_bytes(b"mine")

    with pytest.raises(Corrupt, match="digest"):
        checkout(http, cache, [FILE], tmp_path, what="lab/tiny")

    assert (tmp_path / "model.onnx").read_bytes() == b"mine"
    assert names(tmp_path) == ["model.onnx"]


def test_what_the_folder_has_already_is_not_asked_for(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(DATA)

    checkout(http, cache, [FILE], tmp_path, what="lab/tiny")

    assert server.requests == []


def test_what_the_cache_has_is_copied_out_of_it(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    cached = fetch_tree(http, cache, [FILE], what="lab/tiny") / "model.onnx"
    server.requests.clear()

    checkout(http, cache, [FILE], tmp_path / "here", what="lab/tiny")

    copy = tmp_path / "here" / "model.onnx"
    copy.write_bytes(b"changed")
    assert cached.read_bytes() == DATA
    assert server.requests == []


def test_a_damaged_blob_is_fetched_instead_of_copied(
    http: Transport, cache: Cache, tmp_path: Path
) -> None:
    blob = cache.blob(FILE.sha256)
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"\0" * len(DATA))

    checkout(http, cache, [FILE], tmp_path / "here", what="lab/tiny")

    assert (tmp_path / "here" / "model.onnx").read_bytes() == DATA


def test_equal_files_are_fetched_once_and_are_files_of_their_own(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    twin = File("sub/twin.bin", FILE.sha256, FILE.size_bytes, FILE.url)

    checkout(http, cache, [FILE, twin], tmp_path, what="lab/tiny")

    assert (tmp_path / "sub" / "twin.bin").read_bytes() == DATA
    assert (tmp_path / "sub" / "twin.bin").stat().st_nlink == 1
    assert len(server.requests) == 1


def test_a_disk_that_is_full_ends_it_and_keeps_what_fits(
    server: Server, http: Transport, cache: Cache, tmp_path: Path
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * 2**20, before[1]))
    try:
        with pytest.raises(OSError, match="large") as failure:
            fetch_tree(http, cache, [FILE], what="lab/tiny")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failure.value.errno == errno.EFBIG
    assert not cache.has(FILE)
    server.requests.clear()

    folder = fetch_tree(http, cache, [FILE], what="lab/tiny")

    assert (folder / "model.onnx").read_bytes() == DATA
    assert server.requests == [f"bytes={3 * 2**20}-"]


WORKER = """
import sys
from pathlib import Path
from hpcfair.cache import Cache
from hpcfair.checkout import checkout
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.transport import Transport
from hpcfair.types import File

url, root, folder, sha256, size = sys.argv[1:]
files = [File("model.onnx", sha256, int(size), "/file")]
cache = Cache(Path(root))
with Transport(Config(url, None, cache.root)) as http:
    checkout(http, Cache(Path(root) / "empty"), files, Path(folder), what="lab/tiny")
    fetch_tree(http, cache, files, what="lab/tiny", verify=True)
"""


def test_processes_may_fetch_the_same_file_at_once(
    server: Server, cache: Cache, tmp_path: Path
) -> None:
    arguments = [server.url, cache.root, tmp_path / "here", FILE.sha256, str(len(DATA))]

    workers = [subprocess.Popen([sys.executable, "-c", WORKER, *arguments]) for _ in range(3)]

    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert (tmp_path / "here" / "model.onnx").read_bytes() == DATA
    assert names(tmp_path / "here") == ["model.onnx"]
    assert cache.blob(FILE.sha256).read_bytes() == DATA
    assert names(cache.root / "partial") == []
