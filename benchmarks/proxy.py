"""A TCP proxy that counts the bytes that servers and clients send."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BLOCK_BYTES = 2**18


class CountingProxy:
    """Connections to a server on this machine. Used by many threads.

    Attributes:
        port: Where it listens.
        sent_bytes: Bytes from the server to its clients so far, with heads.
        received_bytes: Bytes from its clients to the server so far, with heads.
    """

    def __init__(self, target_port: int, port: int) -> None:
        self.port = port
        self.sent_bytes = 0
        self.received_bytes = 0
        self._target = ("127.0.0.1", target_port)
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", port))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Accept connections while the block lasts."""
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield
        finally:
            self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                for source, sink, is_answer in ((client, server, False), (server, client, True)):
                    arguments = (source, sink, is_answer)
                    threading.Thread(target=self._forward, args=arguments, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:  # noqa: FBT001
        with suppress(OSError):
            while block := source.recv(_BLOCK_BYTES):
                with self._lock:
                    if is_answer:
                        self.sent_bytes += len(block)
                    else:
                        self.received_bytes += len(block)
                sink.sendall(block)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
