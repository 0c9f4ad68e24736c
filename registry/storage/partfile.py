"""A large file in a folder, whose parts are written in any order."""

import fcntl
import hashlib
import os
import re
import stat
from pathlib import Path

from registry.storage.base import PartUpload, Readable
from registry.storage.digest import pieces
from registry.storage.meter import check_part, no_upload, wrong_size

_KEY = re.compile(r"[0-9a-f]{32}")


class PartFile:
    """The file of ``upload`` in the folder ``incoming``, until it is sealed."""

    def __init__(self, incoming: Path, upload: PartUpload) -> None:
        # The key is untrusted: it must not name another file.
        if not _KEY.fullmatch(upload.key):
            raise no_upload()
        self.path = incoming / f"{upload.key}.parts"
        self._upload = upload

    def begin(self) -> None:
        """Create the file: sparse, with its full length."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, self._upload.size_bytes)
        finally:
            os.close(descriptor)

    def put(self, number: int, stream: Readable) -> str:
        """See :meth:`registry.storage.base.BlobStore.part_put`; the ETag is the part's SHA-256."""
        check_part(self._upload, number)
        length = self._upload.length_of(number)
        start = (number - 1) * self._upload.part_bytes
        digest, received = hashlib.sha256(), 0
        descriptor = self._open()
        try:
            for piece in pieces(stream):
                if received + len(piece) > length:
                    raise wrong_size(received + len(piece), length)
                self._write(descriptor, piece, start + received)
                digest.update(piece)
                received += len(piece)
        finally:
            os.close(descriptor)
        if received != length:
            raise wrong_size(received, length)
        return digest.hexdigest()

    def seal(self, whole: Path) -> None:
        """Move the file to ``whole`` and make it read-only.

        DANGER: its inode becomes a stored blob, so a request that is still sending a part must not
        write to it. Writers hold the lock for each write and check the mode first. Raises
        ``NotFound`` ``upload_not_found``.
        """
        try:
            self.path.replace(whole)
        except FileNotFoundError:
            raise no_upload() from None
        with whole.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.fchmod(file.fileno(), 0o444)
            fcntl.flock(file, fcntl.LOCK_UN)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise no_upload() from None

    @staticmethod
    def _write(descriptor: int, piece: bytes, at: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        try:
            if not os.fstat(descriptor).st_mode & stat.S_IWUSR:
                raise no_upload()
            view = memoryview(piece)
            while view:
                written = os.pwrite(descriptor, view, at)
                view, at = view[written:], at + written
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
