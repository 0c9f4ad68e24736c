"""gunicorn's threaded worker, with a least rate for clients that occupy a thread.

Timeouts between two bytes do not stop a client that sends one byte at a time, and a deadline for a
whole body would end honest uploads of large files. The time that a thread waits for a client counts
instead: a client that sends less than :data:`LEAST_BYTES_S` over :data:`WINDOW_S` of waiting loses
its connection, and so does one that takes longer to receive.
"""

import errno
import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

#: Bytes a second. A modem of 1996 has six times as many.
LEAST_BYTES_S = 1024
#: Seconds of waiting over which the rate is measured.
WINDOW_S = 30.0


class TooSlowError(ConnectionResetError):
    """The client sends, or receives, at less than the least rate."""


class PacedSocket(socket.socket):
    """A blocking socket that raises :class:`TooSlowError` for a client below the least rate."""

    __slots__ = ("_received", "_waited_s")

    def __init__(self, *, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self._received = 0
        self._waited_s = 0.0

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Receive up to ``size`` bytes."""
        started = time.monotonic()
        data = super().recv(size, flags)
        self._waited_s += time.monotonic() - started
        self._received += len(data)
        if self._waited_s >= WINDOW_S:
            if self._received < LEAST_BYTES_S * self._waited_s:
                raise _too_slow(f"{self._received} bytes in {self._waited_s:.0f} s of waiting")
            self._received, self._waited_s = 0, 0.0
        return data

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of ``data``."""
        before = self.gettimeout()
        # Python's limit of the whole call.
        self.settimeout(WINDOW_S + len(data) / LEAST_BYTES_S)
        try:
            super().sendall(data, flags)
        except TimeoutError:
            raise _too_slow("the client did not receive in time") from None
        finally:
            self.settimeout(before)


class PacedWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """A threaded worker whose connections have a least rate."""

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection with a request to a thread."""
        if not isinstance(conn.sock, PacedSocket):
            conn.sock = PacedSocket(fileno=conn.sock.detach())
        super().enqueue_req(conn)


def _too_slow(reason: str) -> TooSlowError:
    # gunicorn ends connections with this number without a traceback in the log.
    return TooSlowError(errno.ECONNRESET, reason)
