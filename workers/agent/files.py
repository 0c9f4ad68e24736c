"""Files of jobs: downloads with a cache, and uploads that continue after an interruption."""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import httpx

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_file
from hpcfair.errors import Corrupt
from hpcfair.tickets import FileTicket
from hpcfair.transfer import receive
from hpcfair.types import File
from workers.agent.connection import blob_path
from workers.agent.outbox import Outbox
from workers.device.errors import HubError
from workers.device.workspace import destination

#: Files up to this size are sent in one request.
_SMALL_BYTES = 8 * 2**20
_PIECE = 2**20
#: Status of the answer to a part while others are missing.
_INCOMPLETE = 202
#: Most digests that a claim names as cached.
_MOST_NAMED = 100
#: Downloads with a wrong digest after which the hub's copy is taken for damaged.
_MOST_CORRUPT = 3


class FileStore:
    """The files of the jobs of this device, in a folder.

    Args:
        capacity_bytes: Size to which :meth:`trim` reduces the folder between jobs.
    """

    def __init__(self, folder: Path, capacity_bytes: int) -> None:
        self._cache = Cache(folder)
        self._capacity_bytes = capacity_bytes

    def digests(self) -> list[str]:
        """SHA-256 of the stored files, at most 100, the most recently used first."""
        return [path.name for path in reversed(self._by_use())][:_MOST_NAMED]

    def fetch(self, outbox: Outbox, job: str, files: Iterable[FileTicket], folder: Path) -> None:
        """Copy files of a job into ``folder``; what is missing is downloaded.

        Raises:
            HubError: a path leads outside, or the hub's bytes have another digest.
            LeaseLost, Cancelled: see :class:`~workers.agent.outbox.Outbox`.
        """
        for ticket in files:
            place = destination(folder, ticket)
            if not self._copy(ticket, place):
                self._download(outbox, job, ticket)
                if not self._copy(ticket, place):
                    raise _damaged(ticket)

    def trim(self) -> None:
        """Remove the least recently used files until the rest fits."""
        paths = self._by_use()
        sizes = {path: path.stat().st_size for path in paths}
        excess = sum(sizes.values()) - self._capacity_bytes
        for path in paths:
            if excess <= 0:
                return
            path.unlink(missing_ok=True)
            excess -= sizes[path]

    def _copy(self, ticket: FileTicket, place: Path) -> bool:
        """Copy a stored file; false if it is not stored, or was damaged and is removed."""
        stored = self._cache.blob(ticket.sha256)
        try:
            with stored.open("rb") as source, place.open("wb") as target:
                digest = hashlib.sha256()
                while piece := source.read(_PIECE):
                    digest.update(piece)
                    target.write(piece)
        except FileNotFoundError:
            return False
        if digest.hexdigest() != ticket.sha256:
            self._cache.drop_blob(ticket.sha256)
            place.unlink()
            return False
        os.utime(stored)
        return True

    def _download(self, outbox: Outbox, job: str, ticket: FileTicket) -> None:
        self._require_space(ticket.size_bytes)
        path = blob_path(job, ticket.sha256)
        file = File(ticket.path, ticket.sha256, ticket.size_bytes, url=path)
        http, partials = outbox.connection.http, self._cache.partials
        for attempt in range(1, _MOST_CORRUPT + 1):
            try:
                part = outbox.repeat(lambda: receive(http, partials, file, _Meter(outbox.check)))
            except Corrupt as error:
                if attempt == _MOST_CORRUPT:
                    raise _damaged(ticket) from error
            else:
                self._cache.keep_blob(part, ticket.sha256)
                return

    def _require_space(self, size_bytes: int) -> None:
        """Remove stored files if the disk has no room for another one. Raises OSError."""
        self._cache.root.mkdir(parents=True, exist_ok=True)
        for path in self._by_use():
            if shutil.disk_usage(self._cache.root).free > 2 * size_bytes:
                return
            path.unlink(missing_ok=True)
        if shutil.disk_usage(self._cache.root).free <= size_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._cache.root))

    def _by_use(self) -> list[Path]:
        """The stored files, the least recently used first."""
        times: dict[Path, float] = {}
        for path in (self._cache.root / "blobs").glob("*/*"):
            # Another agent on the same cache may remove it.
            with suppress(FileNotFoundError):
                times[path] = path.stat().st_mtime
        return sorted(times, key=lambda path: times[path])


class FileUpload:
    """The upload of one file of a job.

    Args:
        outbox: Repeats failed requests.
        fence: Fence of the claim.
    """

    def __init__(self, outbox: Outbox, job: str, fence: int, path: Path) -> None:
        self.sha256 = sha256_of_file(path)
        self._outbox = outbox
        self._address = blob_path(job, self.sha256)
        self._fence = fence
        self._path = path
        self._total = path.stat().st_size

    def send(self) -> None:
        """Send the file. A large one is sent in parts, and only parts that the hub lacks.

        Raises LeaseLost, Cancelled, HubError: see :meth:`~workers.agent.outbox.Outbox.read`.
        """
        if self._total <= _SMALL_BYTES:
            self._outbox.repeat(lambda: self._put(0, self._total, {}))
            return
        while missing := self._outbox.repeat(self._missing):
            for first, size in missing:
                extent = f"bytes {first}-{first + size - 1}/{self._total}"
                self._send_part(first, size, {"Content-Range": extent})

    def _send_part(self, first: int, size: int, headers: dict[str, str]) -> None:
        self._outbox.repeat(lambda: self._put(first, size, headers))

    def _missing(self) -> list[tuple[int, int]]:
        """First byte and size of each part that the hub lacks."""
        response = self._put(0, 0, {"Content-Range": f"bytes */{self._total}"})
        if response.status_code != _INCOMPLETE:
            return []
        answer = response.json()
        step = int(answer["part_bytes"])
        ranges = [(int(first), int(last)) for first, last in answer["received"]]
        parts = [(at, min(step, self._total - at)) for at in range(0, self._total, step)]
        return [
            (at, size)
            for at, size in parts
            if not any(first <= at and at + size - 1 <= last for first, last in ranges)
        ]

    def _put(self, first: int, size: int, headers: dict[str, str]) -> httpx.Response:
        fixed = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(size),
            "X-Fence": str(self._fence),
        }
        content = partial(_pieces, self._path, first, size)
        return self._outbox.connection.put(self._address, content, fixed | headers)


def _pieces(path: Path, first: int, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(first)
        while size and (piece := file.read(min(size, _PIECE))):
            size -= len(piece)
            yield piece


def _damaged(ticket: FileTicket) -> HubError:
    detail = f"The hub's copy of {ticket.path[:200]!r} does not have the digest {ticket.sha256}."
    return HubError("digest_mismatch", detail)


class _Meter:
    """A progress meter that ends a download when the job is lost."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def advance(self, amount: int) -> None:  # noqa: ARG002  only the moment counts
        self._check()

    def show(self, done: int, total: int | None, message: str) -> None:  # noqa: ARG002
        self._check()
