"""The client that measures receives what was sent, and says when it was not."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.load import Connection
from benchmarks.rounds import take_turns
from benchmarks.servers import ROOT, address


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, bytes]]:
    """The address of the loopback server, and what it sends."""
    data = bytes(range(256)) * 8192
    (tmp_path / "file").write_bytes(data)
    command = [sys.executable, "-m", "benchmarks.loopback", str(tmp_path / "file")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield address(int(process.stdout.readline())), data
        process.kill()


def test_a_connection_is_kept_and_all_bytes_are_counted(served: tuple[str, bytes]) -> None:
    place, data = served
    with Connection(place) as connection:
        for _ in range(3):
            answer = connection.ask("GET", "/")
            assert (answer.status, answer.size_bytes) == (200, len(data))
            assert 0 < answer.first_byte_s <= answer.last_byte_s


class _Closing(BaseHTTPRequestHandler):
    """Closes each connection after one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


def test_a_connection_that_the_server_closes_is_opened_again() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Closing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Connection(address(server.server_port)) as connection:
            assert [connection.ask("GET", "/").content for _ in range(3)] == [b"ok"] * 3
        server.shutdown()


def test_turns_are_timed_per_round_and_the_first_does_not_count() -> None:
    asked: list[str] = []

    def turn(name: str) -> float:
        asked.append(name)
        return float(len(asked))

    times = take_turns("toy", {name: partial(turn, name) for name in "ab"}, 3)
    assert {name: len(series) for name, series in times.items()} == {"a": 3, "b": 3}
    assert sorted(asked) == ["a"] * 4 + ["b"] * 4
