"""Local copies of blobs that lie elsewhere, for programs that need files."""

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from registry.storage.digest import place
from registry.storage.meter import Meter

#: A copy asked for less than this ago is not dropped, however full the folder is.
SPARED_S = 900.0


class LocalCopies:
    """A folder of at most ``limit_bytes`` that forgets first what was not asked for longest.

    What was asked for in the last minutes stays even beyond the limit: somebody reads it. Several
    processes may share the folder.
    """

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root = root
        self._limit_bytes = limit_bytes

    def get(self, sha256: str, fetch: Callable[[], BinaryIO]) -> Path:
        """The local copy, fetched and checked if it is not here yet.

        Raises:
            Invalid: ``digest_mismatch`` if other bytes came.
        """
        path = self._root / place(sha256)
        try:
            # The time of the last use: what the limit goes by.
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
                meter = Meter(stream, size_bytes=None, limit_bytes=None)
                for piece in meter.pieces():
                    file.write(piece)
            meter.check_digest(sha256)
            arriving.chmod(0o444)
            arriving.replace(path)
        finally:
            arriving.unlink(missing_ok=True)

    def _make_room(self) -> None:
        found = []
        for path in self._root.glob("??/??/*"):
            with suppress(FileNotFoundError):
                facts = path.stat()
                found.append((facts.st_mtime, facts.st_size, path))
        used = sum(size for _, size, _ in found)
        spared_since = time.time() - SPARED_S
        for used_at, size, path in sorted(found):
            if used <= self._limit_bytes or used_at > spared_since:
                break
            # Copies half fetched by a process that died carry other names, and go the same way.
            path.unlink(missing_ok=True)
            used -= size
