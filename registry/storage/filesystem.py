"""Blobs as files of a folder.

::

    <root>/ab/cd/abcd...      one file per blob, read-only, named by its SHA-256
    <root>/incoming/<random>  bytes on their way; never read by anybody else

A blob is written to ``incoming``, flushed to the disk, renamed to its place, and the folders on
the way are flushed as well; only then does :meth:`FolderStore.put` return. ``incoming`` lies in
the same file system, so that the rename is atomic, and apart from the blobs, so that no listing
ever meets half a file.
"""

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from registry.errors import Invalid, NotFound, TooLarge, Unavailable
from registry.ids import SHA256_RE
from registry.storage.base import Readable, StoredBlob
from registry.storage.digest import git_hasher, git_oid_of, pieces, place

#: A file in ``incoming`` that nobody wrote to for this long belongs to a process that died.
ABANDONED_S = 86_400.0


class FolderStore:
    """A :class:`registry.storage.base.BlobStore` under ``root``, which is made where missing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        _flush_folder(root.parent)
        self._clear_abandoned()

    def put(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> StoredBlob:
        """See :meth:`registry.storage.base.BlobStore.put`."""
        if size_bytes is not None and limit_bytes is not None and size_bytes > limit_bytes:
            raise _too_large(limit_bytes)
        arriving = self._incoming / secrets.token_hex(16)
        with _full_disk_is_our_error():
            try:
                stored = _receive(stream, arriving, size_bytes, limit_bytes)
                if sha256 is not None and stored.sha256 != sha256:
                    raise Invalid(
                        "digest_mismatch",
                        f"The bytes have SHA-256 {stored.sha256}, not {sha256}.",
                        "Send the file again; it changed or was damaged on its way.",
                    )
                self._keep(arriving, stored)
            finally:
                arriving.unlink(missing_ok=True)
        return stored

    def open(self, sha256: str) -> BinaryIO:
        """See :meth:`registry.storage.base.BlobStore.open`."""
        try:
            return self.path(sha256).open("rb")
        except FileNotFoundError:
            raise NotFound("blob_not_found", f"No bytes are stored as {sha256}.") from None

    def path(self, sha256: str) -> Path:
        """The file for ``sha256``, there or not."""
        return self.root / place(sha256)

    def exists(self, sha256: str) -> bool:
        """See :meth:`registry.storage.base.BlobStore.exists`."""
        return self.path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """See :meth:`registry.storage.base.BlobStore.delete`."""
        self.path(sha256).unlink(missing_ok=True)

    def digests(self) -> Iterator[str]:
        """See :meth:`registry.storage.base.BlobStore.digests`."""
        for path in self.root.glob("??/??/*"):
            if SHA256_RE.fullmatch(path.name):
                yield path.name

    def _keep(self, arrived: Path, stored: StoredBlob) -> None:
        final = self.path(stored.sha256)
        # A file of another size is what a failed disk left behind: the rename mends it.
        if not _has_size(final, stored.size_bytes):
            final.parent.mkdir(parents=True, exist_ok=True)
            arrived.replace(final)
        # Also where the file was there: another process may have renamed it a moment ago and
        # not have flushed yet, and our caller is about to promise that it is durable.
        for folder in (final.parent, final.parent.parent, self.root):
            _flush_folder(folder)

    def _clear_abandoned(self) -> None:
        horizon = time.time() - ABANDONED_S
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < horizon:
                    path.unlink()


def _receive(
    stream: Readable, into: Path, size_bytes: int | None, limit_bytes: int | None
) -> StoredBlob:
    """Write ``stream`` to the new file ``into``, durably, and say what it was."""
    sha256, length = hashlib.sha256(), 0
    # Git's id begins with the length: told beforehand, one pass over the bytes is enough.
    sha1 = None if size_bytes is None else git_hasher(size_bytes)
    most = limit_bytes if size_bytes is None else size_bytes
    # 0o444: nothing that is handed the path may change a blob.
    descriptor = os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces(stream):
            length += len(piece)
            if most is not None and length > most:
                break
            sha256.update(piece)
            if sha1 is not None:
                sha1.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if size_bytes is not None and length != size_bytes:
        raise _wrong_size(length, size_bytes)
    if limit_bytes is not None and length > limit_bytes:
        raise _too_large(limit_bytes)
    if sha1 is not None:
        return StoredBlob(sha256.hexdigest(), length, sha1.hexdigest())
    with into.open("rb") as file_again:
        return StoredBlob(sha256.hexdigest(), length, git_oid_of(file_again, length))


@contextmanager
def _full_disk_is_our_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise Unavailable(
                "storage_full",
                "The hub has no room left for these bytes.",
                "Tell the hub's operator, and try again later.",
            ) from error
        raise


def _has_size(path: Path, size_bytes: int) -> bool:
    try:
        return path.stat().st_size == size_bytes
    except FileNotFoundError:
        return False


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(
        "body_too_large",
        f"The hub takes files of at most {limit_bytes} bytes.",
        "Split the file, or ask the hub's operator for a higher limit.",
    )


def _wrong_size(length: int, size_bytes: int) -> Invalid:
    read = f"more than {size_bytes}" if length > size_bytes else str(length)
    return Invalid(
        "size_mismatch",
        f"{read} bytes came, {size_bytes} were announced.",
        "Send the file again; it changed or was cut off on its way.",
    )
