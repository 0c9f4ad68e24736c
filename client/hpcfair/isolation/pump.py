"""Exchanges messages with a child process over pipes, with a deadline."""

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Any, cast

from hpcfair.isolation import wire
from hpcfair.typingnames import Self

_TAIL_BYTES = 8192
_PIECE_BYTES = 2**20


class Pump:
    """Transfers bytes between a parent and its child without blocking on a single pipe.

    A child that fills its error pipe, or dies before it has read its request, would otherwise block
    its parent for ever.
    """

    def __init__(self, process: subprocess.Popen[bytes], tail: bytearray) -> None:
        self._stdin, self._stdout, self._stderr = cast(
            "tuple[IO[bytes], IO[bytes], IO[bytes]]",
            (process.stdin, process.stdout, process.stderr),
        )
        self._tail = tail
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def exchange(self, message: Sequence[bytes | memoryview], deadline: float) -> Any:
        """Send ``message``, return the value of the answer. Raises TimeoutError after the deadline,
        EOFError if the child closed its pipe, BadMessage if its answer is not a message."""
        unsent = [memoryview(piece) for piece in message if len(piece)]
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        decoder = wire.Decoder()
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in self._selector.select(left):
                if key.fileobj is self._stdin:
                    self._write(unsent)
                elif key.fileobj is self._stderr:
                    self._drain()
                elif self._read(decoder):
                    self._drain()
                    return decoder.value()

    def _write(self, unsent: list[memoryview]) -> None:
        try:
            written = os.write(self._stdin.fileno(), unsent[0][:_PIECE_BYTES])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It is dying; the end of its output will follow.
            unsent.clear()
        else:
            unsent[0] = unsent[0][written:]
            if not unsent[0]:
                unsent.pop(0)
        if not unsent:
            self._selector.unregister(self._stdin)

    def _read(self, decoder: wire.Decoder) -> bool:
        try:
            piece = os.read(self._stdout.fileno(), min(decoder.missing, _PIECE_BYTES))
        except BlockingIOError:
            return False
        if not piece:
            self._drain()
            raise EOFError
        return decoder.feed(piece)

    def _drain(self) -> None:
        """Read one piece of its error output and keep the end: it may print faster than we read."""
        try:
            piece = os.read(self._stderr.fileno(), _PIECE_BYTES)
        except BlockingIOError:
            return
        self._tail += piece
        del self._tail[:-_TAIL_BYTES]
        if not piece and self._stderr in self._selector.get_map():
            self._selector.unregister(self._stderr)
