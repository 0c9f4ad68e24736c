"""Blobs as files of a folder.

::

    <root>/ab/cd/abcd...            one file per blob, read-only, named by its SHA-256
    <root>/incoming/<random>        bytes on their way; never read by anybody else
    <root>/incoming/<random>.parts  a large file, its parts being written at their places

A blob is written to ``incoming``, flushed to the disk, linked to its place, and the folders on
the way are flushed as well; only then does :meth:`FolderStore.keep` return. ``incoming`` lies in
the same file system, so that this is atomic, and apart from the blobs, so that no listing ever
meets half a file.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from registry.errors import Unavailable
from registry.ids import SHA256_RE
from registry.storage.base import Arrived, Leftover, PartUpload, Readable, StoredEntry
from registry.storage.digest import place
from registry.storage.meter import Meter, check_all_parts, no_blob
from registry.storage.partfile import PartFile

_MIB = 2**20
#: Clients number parts from 1 to 10,000, as S3 does.
_MOST_PARTS = 10_000


class FolderStore:
    """A :class:`registry.storage.base.BlobStore` under ``root``, which is made where missing.

    Args:
        part_bytes: The length of a part, unless a file would have too many of them.
    """

    def __init__(self, root: Path, *, part_bytes: int = 64 * _MIB) -> None:
        self.root = root
        self._part_bytes = part_bytes
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        _flush_folder(root.parent)

    @contextmanager
    def receive(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> Iterator[Arrived]:
        """See :meth:`registry.storage.base.BlobStore.receive`."""
        meter = Meter(stream, size_bytes=size_bytes, limit_bytes=limit_bytes)
        arriving = self._incoming / secrets.token_hex(16)
        try:
            with full_disk_is_our_error():
                _write(arriving, meter)
            yield meter.arrived(arriving.name, sha256=sha256, again=lambda: arriving.open("rb"))
        finally:
            arriving.unlink(missing_ok=True)

    def keep(self, arrived: Arrived) -> None:
        """See :meth:`registry.storage.base.BlobStore.keep`.

        What lies there already is replaced, which mends a damaged file.
        """
        final = self.path(arrived.sha256)
        waiting = self._incoming / arrived.place
        with full_disk_is_our_error():
            final.parent.mkdir(parents=True, exist_ok=True)
            if _same_file(final, waiting):
                return
            _link(waiting, final)
            # Also where the folders were there: another process may have made them a moment ago
            # and not have flushed yet, and our caller is about to promise that this is durable.
            for folder in (final.parent, final.parent.parent, self.root):
                _flush_folder(folder)

    def parts_begin(self, size_bytes: int) -> PartUpload:
        """See :meth:`registry.storage.base.BlobStore.parts_begin`."""
        part_bytes = max(self._part_bytes, -(-size_bytes // _MOST_PARTS))
        upload = PartUpload(secrets.token_hex(16), size_bytes, part_bytes)
        with full_disk_is_our_error():
            self._parts(upload).begin()
        return upload

    def part_put(self, upload: PartUpload, number: int, stream: Readable) -> str:
        """See :meth:`registry.storage.base.BlobStore.part_put`."""
        with full_disk_is_our_error():
            return self._parts(upload).put(number, stream)

    def part_url(self, upload: PartUpload, number: int, *, expires_s: int) -> None:  # noqa: ARG002
        """See :meth:`registry.storage.base.BlobStore.part_url`: a folder has no addresses."""
        return

    @contextmanager
    def parts_join(
        self, upload: PartUpload, etags: Mapping[int, str], *, sha256: str
    ) -> Iterator[Arrived]:
        """See :meth:`registry.storage.base.BlobStore.parts_join`."""
        check_all_parts(upload, set(etags))
        whole = self._incoming / secrets.token_hex(16)
        try:
            with full_disk_is_our_error():
                self._parts(upload).seal(whole)
            with whole.open("rb") as stream:
                meter = Meter(stream, size_bytes=upload.size_bytes, limit_bytes=None)
                for _ in meter.pieces():
                    pass
            yield meter.arrived(whole.name, sha256=sha256, again=lambda: whole.open("rb"))
        finally:
            whole.unlink(missing_ok=True)

    def parts_abort(self, upload: PartUpload) -> None:
        """See :meth:`registry.storage.base.BlobStore.parts_abort`."""
        self._parts(upload).path.unlink(missing_ok=True)

    def open(self, sha256: str) -> BinaryIO:
        """See :meth:`registry.storage.base.BlobStore.open`."""
        try:
            return self.path(sha256).open("rb")
        except FileNotFoundError:
            raise no_blob(sha256) from None

    def path(self, sha256: str) -> Path:
        """The file for ``sha256``, there or not."""
        return self.root / place(sha256)

    def local(self, sha256: str) -> Path:
        """See :meth:`registry.storage.base.BlobStore.local`."""
        path = self.path(sha256)
        if not path.is_file():
            raise no_blob(sha256)
        return path

    def url(
        self,
        sha256: str,  # noqa: ARG002
        *,
        expires_s: int,  # noqa: ARG002
        content_type: str,  # noqa: ARG002
        disposition: str,  # noqa: ARG002
    ) -> None:
        """See :meth:`registry.storage.base.BlobStore.url`: a folder has no addresses."""
        return

    def size(self, sha256: str) -> int | None:
        """See :meth:`registry.storage.base.BlobStore.size`."""
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    def exists(self, sha256: str) -> bool:
        """See :meth:`registry.storage.base.BlobStore.exists`."""
        return self.path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """See :meth:`registry.storage.base.BlobStore.delete`."""
        self.path(sha256).unlink(missing_ok=True)

    def entries(self) -> Iterator[StoredEntry]:
        """See :meth:`registry.storage.base.BlobStore.entries`."""
        for path in self.root.glob("??/??/*"):
            if SHA256_RE.fullmatch(path.name) and path == self.path(path.name):
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    modified = datetime.fromtimestamp(facts.st_mtime, UTC)
                    yield StoredEntry(path.name, facts.st_size, modified)

    def leftovers(self) -> Iterator[Leftover]:
        """See :meth:`registry.storage.base.BlobStore.leftovers`."""
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                facts = path.stat()
                # Blocks, not length: a file whose parts are to come is mostly holes.
                size_bytes = min(facts.st_size, facts.st_blocks * 512)
                modified = datetime.fromtimestamp(facts.st_mtime, UTC)
                yield Leftover(path.name, size_bytes, modified)

    def discard(self, leftover: Leftover) -> None:
        """See :meth:`registry.storage.base.BlobStore.discard`."""
        (self._incoming / leftover.name).unlink(missing_ok=True)

    def _parts(self, upload: PartUpload) -> PartFile:
        return PartFile(self._incoming, upload)


@contextmanager
def full_disk_is_our_error() -> Iterator[None]:
    """Turn what a full disk raises into ``Unavailable`` ``storage_full``."""
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


def _write(path: Path, meter: Meter) -> None:
    """Write what ``meter`` reads to the new file ``path``, durably."""
    # 0o444: nothing that is handed the path may change a blob.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        for piece in meter.pieces():
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _link(source: Path, target: Path) -> None:
    """Give the file ``source`` the second name ``target``, atomically, in place of what is there.

    A second name, not a new one: should the bytes be collected before their row says that they
    are wanted, they can be put in place again.
    """
    stand_in = source.with_name(secrets.token_hex(16))
    try:
        try:
            stand_in.hardlink_to(source)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}:
                raise
            # Some file systems have no second names.
            shutil.copyfile(source, stand_in)
            stand_in.chmod(0o444)
            with stand_in.open("rb") as file:
                os.fsync(file.fileno())
        stand_in.replace(target)
    finally:
        stand_in.unlink(missing_ok=True)


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
