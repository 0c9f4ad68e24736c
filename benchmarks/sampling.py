"""What honest clients see during the siege: times of pages, and one slow upload."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from benchmarks import servers
from benchmarks.report import say
from benchmarks.slow_clients import KINDS
from benchmarks.wire import Hub

_PATIENCE_S = 30.0
_PAUSE_S = 1.0
_WARM_UP = 8
_PAGES = {"healthz": ("/healthz",), "page": ("/", "/models")}
_UPLOAD_BYTES = 2**18
_PIECES = 64


class PageSampler:
    """Fetches pages, each over a new connection, in a thread, while the block lasts.

    Attributes:
        requests: Number of requests so far.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._took_s: dict[str, list[float]] = defaultdict(list)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.requests = 0

    def __enter__(self) -> Self:
        # The first requests of a process load templates and connect to the database.
        for _ in range(_WARM_UP):
            for path in _PAGES["page"]:
                self._fetch(path)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        self._thread.join()

    def worst_s(self, kind: str) -> float:
        """The longest time of ``page`` or ``healthz``; one without an answer counts 30 s."""
        return max(self._took_s[kind])

    def _run(self) -> None:
        while not self._end.wait(_PAUSE_S):
            for kind, paths in _PAGES.items():
                for path in paths:
                    took_s = self._fetch(path)
                    self._took_s[kind].append(took_s)
                    self.requests += 1
                    if took_s > 1:
                        say(f"{path} took {took_s:.2f} s")

    def _fetch(self, path: str) -> float:
        url = urlsplit(self._address)
        started = time.perf_counter()
        # The standard library's client: others compute for longer than the hub does.
        connection = HTTPConnection(url.hostname or "", url.port, timeout=_PATIENCE_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except (OSError, HTTPException) as error:
            say(f"{path}: {type(error).__name__}")
            return _PATIENCE_S
        finally:
            connection.close()
        if answer.status != 200:
            say(f"{path}: {answer.status}")
            return _PATIENCE_S
        return time.perf_counter() - started


@contextmanager
def slow_clients(address: str, token: str, count: int) -> Iterator[dict[str, Any]]:
    """``count`` slow clients of all kinds while the block lasts.

    Yields a tally, which is filled when they ended: how often each kind connected and was cut off.
    """
    counts = [f"{kind}={count // len(KINDS)}" for kind in KINDS]
    tally: dict[str, Any] = {}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.slow_clients", address, token, *counts],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=servers.ROOT,
    )
    try:
        # Until all are connected.
        time.sleep(2 + count / 250)
        yield tally
        tally |= json.loads(process.communicate(timeout=60)[0])
    finally:
        process.kill()
        process.wait()


def upload_slowly(hub: Hub, seconds: float) -> bool:
    """Upload a blob of 256 KiB in pieces over ``seconds``; whether the hub took it."""
    data = os.urandom(_UPLOAD_BYTES)
    url = urlsplit(hub.address)
    head = (
        f"PUT /api/v1/blobs/{hashlib.sha256(data).hexdigest()} HTTP/1.1\r\nHost: {url.netloc}\r\n"
        f"Authorization: Bearer {hub.token}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    size = len(data) // _PIECES
    try:
        with socket.create_connection((url.hostname, url.port), timeout=_PATIENCE_S) as connection:
            connection.sendall(head.encode())
            for start in range(0, len(data), size):
                connection.sendall(data[start : start + size])
                time.sleep(seconds / _PIECES)
            answer = connection.recv(4096)
    except OSError as error:
        say(f"the slow upload ended: {error}")
        return False
    say(f"the slow upload: {answer.splitlines()[0].decode()}")
    return answer.startswith(b"HTTP/1.1 20")
