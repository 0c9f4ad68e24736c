"""Blobs as files of a folder.

::

    <root>/ab/cd/abcd...            one file per blob, read-only, named by its SHA-256
    <root>/incoming/<random>        bytes being received; private to their upload
    <root>/incoming/<random>.parts  a large file, into which its parts are written

A blob is written to ``incoming``. :meth:`FolderStore.keep` flushes it to the disk, links it to its
final path, and flushes the folders above; in parallel for several blobs, since a journaling file
system serves many such requests by one write. ``incoming`` is in the same file system, so that
this is atomic, and apart from the blobs, so that listings contain complete files only.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from registry.ids import SHA256_RE
from registry.storage.base import Arrived, Leftover, PartUpload, Readable, StoredEntry
from registry.storage.digest import place
from registry.storage.durable import Folders, flush, link, same_file, translate_disk_full, write_new
from registry.storage.meter import ByteMeter, check_all_parts, no_blob
from registry.storage.parallel import in_parallel
from registry.storage.partfile import PartFile

_MIB = 2**20
#: Clients number parts from 1 to 10,000, as S3 does.
_MOST_PARTS = 10_000


class FolderStore:
    """A :class:`registry.storage.base.BlobStore` under ``root``, which is created if missing.

    ``part_bytes`` is the length of a part; longer if a file would have too many parts.
    """

    def __init__(self, root: Path, *, part_bytes: int = 64 * _MIB) -> None:
        self.root = root
        self._part_bytes = part_bytes
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        flush(root.parent)
        self._folders = Folders()

    @contextmanager
    def receive(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> Iterator[Arrived]:
        meter = ByteMeter(stream, size_bytes=size_bytes, limit_bytes=limit_bytes)
        arriving = self._incoming / secrets.token_hex(16)
        try:
            with translate_disk_full():
                write_new(arriving, meter.pieces())
            yield meter.arrived(arriving.name, sha256=sha256, again=lambda: arriving.open("rb"))
        finally:
            arriving.unlink(missing_ok=True)

    def keep(self, *arrivals: Arrived) -> None:
        """See :meth:`BlobStore.keep`. Existing files are replaced, which repairs damaged ones."""
        moves = [(self._incoming / one.place, self.path(one.sha256)) for one in arrivals]
        with translate_disk_full():
            absent = [(waiting, final) for waiting, final in moves if not same_file(final, waiting)]
            # All bytes are flushed before any is linked, which may replace a stored blob.
            in_parallel(flush, [waiting for waiting, _ in absent])
            fresh: set[Path] = set()
            for waiting, final in absent:
                fresh |= self._folders.make(final.parent)
                link(waiting, final)
            gained = {final.parent for _, final in absent}
            in_parallel(flush, gained | {folder.parent for folder in fresh})
            self._folders.note(fresh)

    def parts_begin(self, size_bytes: int) -> PartUpload:
        part_bytes = max(self._part_bytes, -(-size_bytes // _MOST_PARTS))
        upload = PartUpload(secrets.token_hex(16), size_bytes, part_bytes)
        with translate_disk_full():
            self._parts(upload).begin()
        return upload

    def part_put(self, upload: PartUpload, number: int, stream: Readable) -> str:
        with translate_disk_full():
            return self._parts(upload).put(number, stream)

    def part_url(self, upload: PartUpload, number: int, *, expires_s: int) -> None:  # noqa: ARG002
        """See :meth:`registry.storage.base.BlobStore.part_url`: a folder has no addresses."""
        return

    @contextmanager
    def parts_join(
        self, upload: PartUpload, etags: Mapping[int, str], *, sha256: str
    ) -> Iterator[Arrived]:
        check_all_parts(upload, set(etags))
        whole = self._incoming / secrets.token_hex(16)
        try:
            with translate_disk_full():
                self._parts(upload).seal(whole)
            with whole.open("rb") as stream:
                meter = ByteMeter(stream, size_bytes=upload.size_bytes, limit_bytes=None)
                for _ in meter.pieces():
                    pass
            yield meter.arrived(whole.name, sha256=sha256, again=lambda: whole.open("rb"))
        finally:
            whole.unlink(missing_ok=True)

    def parts_abort(self, upload: PartUpload) -> None:
        self._parts(upload).path.unlink(missing_ok=True)

    def open(self, sha256: str) -> BinaryIO:
        try:
            return self.path(sha256).open("rb")
        except FileNotFoundError:
            raise no_blob(sha256) from None

    def path(self, sha256: str) -> Path:
        """The path of the file for ``sha256``, which may be missing."""
        return self.root / place(sha256)

    def local(self, sha256: str) -> Path:
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
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    def exists(self, sha256: str) -> bool:
        return self.path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        self.path(sha256).unlink(missing_ok=True)

    def entries(self, prefix: str = "") -> Iterator[StoredEntry]:
        for path in self.root.glob(f"{prefix or '??'}/??/*"):
            if SHA256_RE.fullmatch(path.name) and path == self.path(path.name):
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    modified = datetime.fromtimestamp(facts.st_mtime, UTC)
                    yield StoredEntry(path.name, facts.st_size, modified)

    def leftovers(self) -> Iterator[Leftover]:
        for path in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                facts = path.stat()
                # Allocated blocks, since a file with missing parts is sparse.
                size_bytes = min(facts.st_size, facts.st_blocks * 512)
                modified = datetime.fromtimestamp(facts.st_mtime, UTC)
                yield Leftover(path.name, size_bytes, modified)

    def discard(self, leftover: Leftover) -> None:
        (self._incoming / leftover.name).unlink(missing_ok=True)

    def _parts(self, upload: PartUpload) -> PartFile:
        return PartFile(self._incoming, upload)
