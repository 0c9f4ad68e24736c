"""Writes a file and computes its SHA-256, beside the thread that receives its bytes."""

import contextlib
import hashlib
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from hpcfair.progress import Meter
from hpcfair.typingnames import Self

_READ_BYTES = 2**20
#: For smaller blocks, passing them to other threads costs more than writing and hashing.
_BESIDE_BYTES = 2**16
#: Blocks that arrive while the threads are busy are passed to them together, up to this size.
_BATCH_BYTES = 2**20
#: Upper bound on batches waiting to be written and hashed, which bounds memory.
_WAITING = 4


class Intake:
    """Appends to a file; existing content is hashed first. ``meter``: receives the number of bytes
    that were appended.

    One thread receives, one writes and one hashes. Even with fewer processors this gains: writing
    waits for the disk, and receiving for the hub.
    """

    def __init__(self, part: Path, meter: Meter) -> None:
        self.size_bytes = 0
        self._meter = meter
        self._file = part.open("r+b", buffering=0)
        self._digest = hashlib.sha256()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._hasher = ThreadPoolExecutor(1, thread_name_prefix="sha256")
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._waiting: deque[tuple[Future[None], Future[None]]] = deque()
        self._is_broken = False
        while block := self._file.read(_READ_BYTES):
            self._digest.update(block)
            self._count(len(block))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # After a failure of the connection, what was received is still written for the next
        # attempt; a failure of the disk has been raised, or concerns bytes that can be sent again.
        with contextlib.suppress(OSError):
            self._settle_all()
        self._writer.shutdown()
        self._hasher.shutdown()
        self._file.close()

    def write(self, block: bytes) -> None:
        """Append. Raises OSError if the disk is full or unavailable, possibly for an earlier block;
        everything is written once :meth:`sha256` has returned."""
        self._settle(_WAITING)
        self._batch.append(block)
        self._batch_bytes += len(block)
        if not self._waiting or self._batch_bytes >= _BATCH_BYTES:
            self._pass_on()
        self._count(len(block))

    def restart(self) -> None:
        """Truncate the file and start again."""
        self._settle_all()
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._meter.advance(-self.size_bytes)
        self.size_bytes = 0

    def sha256(self) -> str:
        """Hex digest of the file's content. Raises OSError as :meth:`write`."""
        self._settle_all()
        return self._digest.hexdigest()

    def _count(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        self._meter.advance(size_bytes)

    def _pass_on(self) -> None:
        """Let the batch be written and hashed: now if it is small, else by the threads."""
        batch, size_bytes = self._batch, self._batch_bytes
        self._batch, self._batch_bytes = [], 0
        if self._waiting or size_bytes >= _BESIDE_BYTES:
            written = self._writer.submit(self._append, batch)
            self._waiting.append((written, self._hasher.submit(self._hash, batch)))
        else:
            self._append(batch)
            self._hash(batch)

    def _append(self, batch: Iterable[bytes]) -> None:
        # DANGER: after a failure nothing more may be appended, or bytes would be missing between.
        if self._is_broken:
            raise OSError("An earlier part of the file could not be written.")
        self._is_broken = True
        for block in batch:
            left = memoryview(block)
            while left:
                left = left[self._file.write(left) :]
        self._is_broken = False

    def _hash(self, batch: Iterable[bytes]) -> None:
        for block in batch:
            self._digest.update(block)

    def _settle_all(self) -> None:
        self._pass_on()
        self._settle(0)

    def _settle(self, allowed: int) -> None:
        """Wait until at most ``allowed`` batches are not finished, and release the others."""
        while self._waiting and (
            len(self._waiting) > allowed or all(future.done() for future in self._waiting[0])
        ):
            for future in self._waiting.popleft():
                future.result()
