"""Writes a file and computes its SHA-256 in parallel."""

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from hpcfair.progress import Meter
from hpcfair.typingnames import Self

_READ_BYTES = 2**20
#: For smaller blocks, passing them to another thread costs more than hashing.
_BESIDE_BYTES = 2**16
#: Upper bound on blocks waiting to be hashed, which bounds memory.
_WAITING = 8


class Intake:
    """Appends to a file; existing content is hashed first. ``meter``: receives the number of bytes
    in the file."""

    def __init__(self, part: Path, meter: Meter) -> None:
        self.size_bytes = 0
        self._meter = meter
        self._file = part.open("r+b", buffering=0)
        self._digest = hashlib.sha256()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sha256")
        self._waiting: deque[Future[None]] = deque()
        while block := self._file.read(_READ_BYTES):
            self._count(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._file.close()

    def write(self, block: bytes) -> None:
        """Append; raises OSError if the disk is full or unavailable."""
        left = memoryview(block)
        while left:
            left = left[self._file.write(left) :]
        self._count(block)

    def restart(self) -> None:
        """Truncate the file and start again."""
        self._file.seek(0)
        self._file.truncate()
        self._settle(0)
        self._digest = hashlib.sha256()
        self._meter.advance(-self.size_bytes)
        self.size_bytes = 0

    def sha256(self) -> str:
        """Hex digest of the file's content."""
        self._settle(0)
        return self._digest.hexdigest()

    def _count(self, block: bytes) -> None:
        self._settle(_WAITING)
        if self._waiting or len(block) >= _BESIDE_BYTES:
            self._waiting.append(self._thread.submit(self._digest.update, block))
        else:
            self._digest.update(block)
        self.size_bytes += len(block)
        self._meter.advance(len(block))

    def _settle(self, allowed: int) -> None:
        """Wait until at most ``allowed`` blocks are not hashed yet, and release the others."""
        while self._waiting and (len(self._waiting) > allowed or self._waiting[0].done()):
            self._waiting.popleft().result()
