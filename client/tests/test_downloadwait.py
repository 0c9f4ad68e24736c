"""Processes that load the same file at once: one downloads it, and nobody waits for a dead one."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from hpcfair.types import File

DATA = bytes(range(250)) * 4000
BLOCKS = 20
#: Downloads the file when it is told to. Intervals are those of a small file.
LOADER = """
import json, sys
from pathlib import Path
from hpcfair import downloadwait
from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.transport import Transport
from hpcfair.types import File

url, root, listed = sys.argv[1:]
downloadwait._WORTH_BYTES, downloadwait._STALLED_S, downloadwait._SILENT_S = 1000, 1.0, 0.1
cache = Cache(Path(root))
file = File.from_json(json.loads(listed))
print("ready", flush=True)
sys.stdin.readline()
with Transport(Config(url, None, cache.root)) as http:
    folder = fetch_tree(http, cache, [file], what="lab/tiny")
assert (folder / file.path).stat().st_size == file.size_bytes
"""


class Handler(BaseHTTPRequestHandler):
    """Sends the file slowly.

    Attributes:
        starts: One for each request.
        pause_s: After each block.
    """

    protocol_version = "HTTP/1.1"
    starts: list[float]
    pause_s = 0.02

    def do_GET(self) -> None:  # the name http.server wants
        self.starts.append(time.monotonic())
        self.send_response(200)
        self.send_header("Content-Length", str(len(DATA)))
        self.end_headers()
        try:
            for number in range(BLOCKS):
                size = len(DATA) // BLOCKS
                self.wfile.write(DATA[number * size : (number + 1) * size])
                time.sleep(self.pause_s)
        except ConnectionError:
            """The client was killed."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def handler() -> type[Handler]:
    return type("Serving", (Handler,), {"starts": []})


@pytest.fixture
def url(handler: type[Handler], listen: Callable[[type[BaseHTTPRequestHandler]], str]) -> str:
    return listen(handler)


@pytest.fixture
def loaders(url: str, tmp_path: Path) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that are about to load the file."""
    file = File("model.onnx", hashlib.sha256(DATA).hexdigest(), len(DATA), "/file")
    command = [sys.executable, "-c", LOADER, url, str(tmp_path / "cache"), json.dumps(asdict(file))]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def end(process: "subprocess.Popen[str]") -> str:
    """What it wrote to stderr, once it has succeeded."""
    _, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0, errors
    return errors


def begin(process: "subprocess.Popen[str]") -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def wait_for(handler: type[Handler], requests: int) -> None:
    deadline = time.monotonic() + 60
    while len(handler.starts) < requests and time.monotonic() < deadline:
        time.sleep(0.01)


def test_one_process_downloads_and_the_others_wait(
    handler: type[Handler], loaders: list["subprocess.Popen[str]"]
) -> None:
    for process in loaders:
        begin(process)

    errors = [end(process) for process in loaders]

    assert len(handler.starts) == 1
    assert sum("Waiting for another process" in text for text in errors) == 2


def test_a_killed_download_is_not_waited_for(
    handler: type[Handler], loaders: list["subprocess.Popen[str]"]
) -> None:
    handler.pause_s = 0.1
    begin(loaders[0])
    wait_for(handler, requests=1)
    begin(loaders[1])
    loaders[0].send_signal(signal.SIGKILL)
    handler.pause_s = 0.0

    end(loaders[1])
    end(loaders[2])

    assert len(handler.starts) == 2
