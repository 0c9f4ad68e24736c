"""Local copies of remote blobs, for programs that need files."""

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from registry.storage.digest import place
from registry.storage.meter import ByteMeter

#: A copy used within this time is not deleted, however full the folder is.
SPARED_S = 900.0


class LocalCopies:
    """A folder of at most ``limit_bytes``, with least-recently-used eviction.

    Recently used copies stay even beyond the limit, since they may be being read. Several
    processes may share the folder.
    """

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root = root
        self._limit_bytes = limit_bytes

    def get(self, sha256: str, fetch: Callable[[], BinaryIO]) -> Path:
        """The local copy; fetched and verified if it is missing.

        Raises ``Invalid`` ``digest_mismatch`` if other bytes were fetched.
        """
        path = self._root / place(sha256)
        try:
            # Time of the last use, for eviction.
            os.utime(path)
        except FileNotFoundError:
            self._fetch(sha256, path, fetch)
            self._make_room()
        return path

    def _fetch(self, sha256: str, path: Path, fetch: Callable[[], BinaryIO]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arriving = path.with_name(f".{secrets.token_hex(8)}")
        try:
            with fetch() as stream, arriving.open("xb") as file:
                meter = ByteMeter(stream, size_bytes=None, limit_bytes=None)
                for piece in meter.pieces():
                    file.write(piece)
            meter.check_digest(sha256)
            arriving.chmod(0o444)
            arriving.replace(path)
        finally:
            arriving.unlink(missing_ok=True)

    def _make_room(self) -> None:
        copies = []
        for path in self._root.glob("??/??/*"):
            with suppress(FileNotFoundError):
                status = path.stat()
                copies.append((status.st_mtime, status.st_size, path))
        total_bytes = sum(size for _, size, _ in copies)
        spared_since = time.time() - SPARED_S
        for used_at, size, path in sorted(copies):
            if total_bytes <= self._limit_bytes or used_at > spared_since:
                break
            # Also evicts partial copies of processes that died, which have other names.
            path.unlink(missing_ok=True)
            total_bytes -= size
