"""A real command, a server that stops and a disk that is full: one line, and no lost bytes."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

#: Runs the command without waiting between attempts, with a limit in bytes on written files.
COMMAND = """
import resource, sys
from hpcfair import retry
from hpcfair.cli import app

retry.Retry.wait_s = lambda *_: 0.0
limit = int(sys.argv.pop(1))
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
app()
"""
LOAD = ("load", "lab/tiny", "--target", "none")


@dataclass
class Hub:
    """Serves one model over loopback.

    Attributes:
        cut: Break off after so many bytes of each file, and answer nothing afterwards.
        ranges: The Range headers of requests for the file so far.
    """

    data: bytes
    url: str = ""
    cut: int | None = None
    is_away: bool = False
    ranges: list[str] = field(default_factory=list)

    def answer(self) -> dict[str, Any]:
        tensors = {
            side: [{"name": name, "dtype": "float32", "shape": ["N", size]}]
            for side, name, size in (("inputs", "x", 4), ("outputs", "y", 3))
        }
        file = {
            "path": "model.onnx",
            "sha256": hashlib.sha256(self.data).hexdigest(),
            "size_bytes": len(self.data),
            "url": "/file",
        }
        return {
            "revision": "1" * 40,
            "build": None,
            "reason": "It is not tuned.",
            "files": [file],
            "entry_point": "model.onnx",
            "signature": tensors,
        }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_POST(self) -> None:  # the name http.server wants
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_upload = self.path == "/api/v1/blobs/missing"
        answer = {"missing": body["sha256"]} if is_upload else self.hub.answer()
        self.send(200, json.dumps(answer).encode())

    def do_PUT(self) -> None:
        self.rfile.read(min(1000, int(self.headers["Content-Length"])))
        self.close_connection = True

    def do_GET(self) -> None:
        if self.hub.is_away:
            self.close_connection = True
            return
        range_header = self.headers.get("Range", "")
        self.hub.ranges.append(range_header)
        start = int(re.fullmatch(r"bytes=(\d+)-", range_header)[1]) if range_header else 0  # type: ignore[index]
        self.send(206 if range_header else 200, self.hub.data, start)

    def send(self, status: int, body: bytes, start: int = 0) -> None:
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.hub.cut if self.command == "GET" else None
        self.wfile.write(body[start:][:cut])
        if cut is not None:
            self.hub.is_away = self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tiny: bytes, listen: Callable[[type[BaseHTTPRequestHandler]], str]) -> Hub:
    """A hub with a model of 5 MiB."""
    model = onnx.load_from_string(tiny)
    unused = np.arange(5 * 2**20, dtype=np.uint8)
    model.graph.initializer.append(numpy_helper.from_array(unused, "unused"))
    state = Hub(model.SerializeToString())
    handler = type("Serving", (Handler,), {"hub": state})
    state.url = listen(handler)
    return state


@pytest.fixture
def run(hub: Hub, tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs the command in a process of its own."""

    def command(*words: str, limit: int = 0, **more: Any) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "HPCFAIR_URL": hub.url}
        arguments = [sys.executable, "-c", COMMAND, str(limit), *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        return subprocess.run(arguments, check=False, text=True, env=environment, **streams)

    return command


@pytest.mark.parametrize("cut", [1000, 4 * 2**20 + 1])
def test_a_hub_that_stops_in_a_file_is_told_and_the_rest_is_fetched_later(
    hub: Hub, run: Callable[..., Any], cut: int
) -> None:
    hub.cut = cut

    broken = run(*LOAD)

    assert broken.returncode == 5, broken.stderr
    assert broken.stderr.startswith(f"hpcfair: The hub at {hub.url} does not answer")
    assert "Traceback" not in broken.stderr
    hub.cut, hub.is_away, hub.ranges = None, False, []

    whole = run(*LOAD)

    assert whole.returncode == 0, whole.stderr
    assert hub.ranges == [f"bytes={cut}-"]


def test_a_disk_that_takes_no_more_is_told_and_what_fits_is_kept(
    hub: Hub, run: Callable[..., Any]
) -> None:
    full = run(*LOAD, limit=3 * 2**20)

    assert full.returncode == 1, full.stderr
    assert "[file_too_large]" in full.stderr
    assert "HPCFAIR_CACHE" in full.stderr
    assert "Traceback" not in full.stderr
    hub.ranges.clear()

    whole = run(*LOAD)

    assert whole.returncode == 0, whole.stderr
    assert hub.ranges == [f"bytes={3 * 2**20}-"]


def test_a_hub_that_stops_in_an_upload_is_told(
    hub: Hub, run: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(hub.data)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")

    result = run("push", str(folder), "lab/tiny")

    assert result.returncode == 5, result.stderr
    assert result.stderr.startswith(f"hpcfair: The hub at {hub.url} does not answer")
    assert "Traceback" not in result.stderr


def test_an_output_that_takes_no_more_is_told(hub: Hub, run: Callable[..., Any]) -> None:
    with Path("/dev/full").open("w") as full:
        result = run(*LOAD, stdout=full)

    assert result.returncode == 1, result.stderr
    assert "The disk of the output is full" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr


def test_a_reader_that_ends_early_is_no_error(hub: Hub, run: Callable[..., Any]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = run(*LOAD, stdout=writing)
    finally:
        os.close(writing)

    assert "Traceback" not in result.stderr
    assert "hpcfair:" not in result.stderr
