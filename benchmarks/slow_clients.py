"""Slow clients: connections that hold what they get as long as they can.

::

    head     half of a request's head, then one byte a second
    body     a whole head, then one byte of the body a second
    reader   a whole request, then one byte of the answer a second
    idle     a request and its answer, then nothing

Each connects again when it is cut off. They come from another loopback address than honest clients,
as attackers do. ``python -m benchmarks.slow_clients ADDRESS TOKEN KIND=COUNT ...`` runs them until
stdin closes, then prints how often each kind connected and was cut off, as JSON.
"""

import asyncio
import json
import resource
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

KINDS = ("head", "body", "reader", "idle")
_SOURCE = ("127.0.0.2", 0)
_BODY_BYTES = 100_000
_TICK_S = 1.0
_SMALL_BUFFER = 2048
_LARGE_FILE = "/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js"


class SlowClients:
    """Slow clients of the hub at ``address``; ``token`` lets half of the bodies reach a thread."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._token = token
        self.connected: Counter[str] = Counter()
        self.cut_off: Counter[str] = Counter()

    async def run(self, counts: Mapping[str, int], until: asyncio.Event) -> None:
        """Keep ``counts`` clients of each kind connected until the event is set."""
        clients = [
            asyncio.create_task(self._client(kind, number))
            for kind, count in counts.items()
            for number in range(count)
        ]
        await until.wait()
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)

    async def _client(self, kind: str, number: int) -> None:
        # Not all in the same moment: a listening socket's queue is short.
        await asyncio.sleep(number * 0.004)
        while True:
            with suppress(OSError):
                await self._once(kind, number)
                self.cut_off[kind] += 1
            await asyncio.sleep(_TICK_S)

    async def _once(self, kind: str, number: int) -> None:
        """One connection, until the hub ends it."""
        connection = socket.socket()
        connection.settimeout(0)
        if kind == "reader":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)
        loop = asyncio.get_running_loop()
        try:
            connection.bind(_SOURCE)
            await loop.sock_connect(connection, (self._host, self._port))
            self.connected[kind] += 1
            await loop.sock_sendall(connection, self._start(kind, number))
            if kind in {"head", "body"}:
                await self._send_slowly(connection)
            elif kind == "reader":
                while await loop.sock_recv(connection, 1):
                    await asyncio.sleep(_TICK_S)
            else:
                while await loop.sock_recv(connection, 65536):
                    pass
        finally:
            connection.close()

    @staticmethod
    async def _send_slowly(connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        end = asyncio.create_task(loop.sock_recv(connection, 1))
        try:
            while not end.done():
                await asyncio.sleep(_TICK_S)
                await loop.sock_sendall(connection, b"a")
        finally:
            end.cancel()

    def _start(self, kind: str, number: int) -> bytes:
        host = f"Host: {self._host}:{self._port}\r\n"
        if kind == "head":
            return f"GET /models HTTP/1.1\r\n{host}X-Slow: ".encode()
        if kind == "body":
            form = f"Content-Type: application/json\r\nContent-Length: {_BODY_BYTES}\r\n\r\n"
            if number % 2:
                return f"POST /api/repos/create HTTP/1.1\r\n{host}{form}".encode()
            upload = f"PUT /api/v1/blobs/{number:064x} HTTP/1.1\r\n{host}"
            return f"{upload}Authorization: Bearer {self._token}\r\n{form}".encode()
        path = _LARGE_FILE if kind == "reader" and number % 2 else "/"
        return f"GET {path} HTTP/1.1\r\n{host}\r\n".encode()


def allow_connections(count: int) -> None:
    """Raise the limit of open files to ``count``, if the system's limit permits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count if most == resource.RLIM_INFINITY else min(count, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


async def _main(address: str, token: str, counts: Mapping[str, int]) -> None:
    clients, until = SlowClients(address, token), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: until.set())
    await clients.run(counts, until)
    outcome = {"connected": clients.connected, "cut_off": clients.cut_off}
    sys.stdout.write(json.dumps(outcome) + "\n")


if __name__ == "__main__":
    allow_connections(8192)
    _address, _token, *_pairs = sys.argv[1:]
    _counts = {kind: int(count) for kind, _, count in (pair.partition("=") for pair in _pairs)}
    asyncio.run(_main(_address, _token, _counts))
