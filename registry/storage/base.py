"""Interface of the stores of bytes. ``tests/registry/storage/contract.py`` tests it.

Bytes are stored in two steps, so that garbage collection cannot delete them in between::

    with store.receive(stream, size_bytes=n) as arrived:   # measured, invisible
        store.keep(arrived)                                # durable, stored under their digest

Storing several received blobs together costs little more than storing one. Bytes that are not
kept are deleted at the end of the block or, if the process dies, by garbage collection. A large
file may be uploaded in parts instead, in any order and by several requests:
:meth:`BlobStore.parts_begin`, :meth:`BlobStore.part_put`, :meth:`BlobStore.parts_join`.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class Arrived:
    """Bytes that were received completely and are not visible yet.

    ``git_oid`` is git's id of them as a blob object, ``place`` their temporary location, opaque to
    all but their store, and ``held`` the bytes, if they are few and waiting in memory.
    """

    sha256: str
    size_bytes: int
    git_oid: str
    place: str
    held: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PartUpload:
    """A multipart upload. Has only strings and numbers, so that an address can contain it.

    ``key`` is the store's unguessable name for it. Every part but the last has ``part_bytes``.
    """

    key: str
    size_bytes: int
    part_bytes: int

    @property
    def count(self) -> int:
        """Number of parts, which are numbered from 1."""
        return max(1, math.ceil(self.size_bytes / self.part_bytes))

    def length_of(self, number: int) -> int:
        """The required length of part ``number`` in bytes."""
        return min(self.part_bytes, self.size_bytes - (number - 1) * self.part_bytes)


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A blob in a store."""

    sha256: str
    size_bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Leftover:
    """Bytes of an upload that is in progress or was interrupted."""

    name: str
    size_bytes: int
    modified: datetime


class Readable(Protocol):
    """A source of bytes, such as a file or a request's body; returns ``b""`` at its end."""

    def read(self, size: int, /) -> bytes: ...


class BlobStore(Protocol):
    """Stores bytes under the SHA-256 of their content.

    A blob is stored completely or not at all. Once :meth:`keep` has returned, it survives a crash
    of the process and of the machine. All methods may be called from several threads and processes
    at once, even for the same digest. At most some MiB of a file are held in memory.
    """

    def receive(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> AbstractContextManager[Arrived]:
        """Read ``stream`` to its end; within the block its bytes may be kept.

        The stream is read even if the bytes are stored already, since the sender must prove to have
        them. After an error nothing is left in the store. Raises ``Invalid`` ``digest_mismatch`` or
        ``size_mismatch``; ``TooLarge`` ``body_too_large``; ``Unavailable`` ``storage_full``.

        Args:
            stream: Read in pieces. Its exceptions propagate.
            sha256: The expected digest, if known.
            size_bytes: The expected length, if known.
            limit_bytes: The maximum length.
        """

    def keep(self, *arrivals: Arrived) -> None:
        """Store these bytes durably under their digests.

        At most some hundreds at a time; they wait for the disk or the server together. May be
        called again within the same block, and is then cheap unless bytes were deleted in between.
        Stored bytes of another length are replaced. After a failure, which may leave some stored,
        the block must end. Raises ``Unavailable`` ``storage_full``.
        """

    def parts_begin(self, size_bytes: int) -> PartUpload:
        """Begin the upload of a file of ``size_bytes`` in parts."""

    def part_put(self, upload: PartUpload, number: int, stream: Readable) -> str:
        """Read ``stream`` to its end as part ``number``; the part's ETag, without quotes.

        A part that is sent again replaces the previous one. Raises ``NotFound``
        ``upload_not_found`` if it was joined, aborted or collected. Raises ``Invalid``
        ``size_mismatch``, or ``invalid_request`` for a number out of range. Raises ``Unavailable``
        ``storage_full``.
        """

    def part_url(self, upload: PartUpload, number: int, *, expires_s: int) -> str | None:
        """A pre-signed address for a PUT of part ``number``.

        ``None`` if the store has none, and the part must be sent through :meth:`part_put`.
        """

    def parts_join(
        self, upload: PartUpload, etags: Mapping[int, str], *, sha256: str
    ) -> AbstractContextManager[Arrived]:
        """The complete file, read and measured; within the block it may be kept.

        ``etags`` maps part numbers to the ETags that their uploads returned; ``sha256`` is the
        expected digest. Raises ``NotFound`` ``upload_not_found``. Raises ``Invalid``
        ``digest_mismatch``, which ends the upload; ``size_mismatch``; ``invalid_request`` if a part
        is missing.
        """

    def parts_abort(self, upload: PartUpload) -> None:
        """Delete the parts. Idempotent."""

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, seekable; the caller closes. Raises ``NotFound`` ``blob_not_found``."""

    def path(self, sha256: str) -> Path | None:
        """The file with the bytes, for sendfile; ``None`` if the store has no local files."""

    def local(self, sha256: str) -> Path:
        """A local file with the bytes, fetched if necessary; never write to it.

        It may be deleted minutes after the call, so copy it at once. Raises ``NotFound``
        ``blob_not_found``.
        """

    def url(
        self, sha256: str, *, expires_s: int, content_type: str, disposition: str
    ) -> str | None:
        """A pre-signed address for a GET of the bytes, also of ranges.

        ``None`` if the store has none. The response carries ``content_type`` as Content-Type and
        ``disposition`` as Content-Disposition.
        """

    def size(self, sha256: str) -> int | None:
        """The length of the stored bytes; ``None`` if there are none."""

    def exists(self, sha256: str) -> bool:
        """Whether bytes are stored under that digest."""

    def delete(self, sha256: str) -> None:
        """Delete the bytes. Idempotent."""

    def entries(self, prefix: str = "") -> Iterator[StoredEntry]:
        """All stored blobs, or those whose digest begins with ``prefix``, two hex digits.

        In no particular order; concurrent changes may be included or not.
        """

    def leftovers(self) -> Iterator[Leftover]:
        """The bytes of all unfinished uploads, including parts of large files."""

    def discard(self, leftover: Leftover) -> None:
        """Delete the bytes of an unfinished upload."""
