"""The contract of every place that keeps bytes. ``tests/registry/storage/contract.py`` tests it.

Bytes come in two steps, so that nothing can collect them in between::

    with store.receive(stream, size_bytes=n) as arrived:   # measured, invisible
        store.keep(arrived)                                # durable, in place under their digest

Several blobs that arrived are kept together for little more than the price of one. What is not
kept is gone when the block ends, or, if the process dies, a leftover that garbage collection
finds. A large file may come in as parts instead, out of order and by several requests:
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
    """Bytes that have come in whole, and that nobody can see yet.

    Attributes:
        sha256: Their SHA-256, computed from what came.
        size_bytes: Their length.
        git_oid: Git's id of them as a blob object.
        place: Where they wait; means something to their store alone.
        held: Themselves, where they are few and wait in memory.
    """

    sha256: str
    size_bytes: int
    git_oid: str
    place: str
    held: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PartUpload:
    """A file that comes in as parts. Strings and numbers alone, so it can travel in an address.

    Attributes:
        key: The store's name for it; not to be guessed.
        size_bytes: The length of the whole.
        part_bytes: The length of every part but the last, which has the rest.
    """

    key: str
    size_bytes: int
    part_bytes: int

    @property
    def count(self) -> int:
        """How many parts there are, numbered from 1."""
        return max(1, math.ceil(self.size_bytes / self.part_bytes))

    def length_of(self, number: int) -> int:
        """The length part ``number`` must have."""
        return min(self.part_bytes, self.size_bytes - (number - 1) * self.part_bytes)


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A blob that lies in a store."""

    sha256: str
    size_bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Leftover:
    """Bytes on their way in: of an upload that goes on, or of a process that died."""

    name: str
    size_bytes: int
    modified: datetime


class Readable(Protocol):
    """Something that gives bytes until it gives none: a file, or the body of a request."""

    def read(self, size: int, /) -> bytes: ...


class BlobStore(Protocol):
    """Keeps bytes under the SHA-256 of their content.

    A blob is there whole or not at all, and what :meth:`keep` returned from survives a crash of
    the process and of the machine. All methods may be called from several threads and processes
    at once, on the same digest too. Of a file, no more than some MiB are held in memory.
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

        The stream is read even where the bytes are stored already: whoever hands in a digest
        must prove to have the bytes.

        Args:
            stream: Read in pieces. Whatever it raises passes through.
            sha256: The digest the bytes must have.
            size_bytes: The length they must have.
            limit_bytes: The greatest length taken.

        Raises:
            Invalid: ``digest_mismatch`` or ``size_mismatch``; nothing is left.
            TooLarge: ``body_too_large``; nothing is left.
            Unavailable: ``storage_full``; nothing is left.
        """

    def keep(self, *arrivals: Arrived) -> None:
        """See to it that these bytes are in place under their digests, durably.

        Some hundreds at most; their waiting for the disk or the server is one. May be called
        again within the same block, and is then cheap unless bytes were deleted in between.
        Bytes of another length under a digest are replaced. After a failure, when some may be in
        place, the block must end.

        Raises:
            Unavailable: ``storage_full``.
        """

    def parts_begin(self, size_bytes: int) -> PartUpload:
        """Make room for a file that comes in as parts."""

    def part_put(self, upload: PartUpload, number: int, stream: Readable) -> str:
        """Read ``stream`` to its end as part ``number``; the part's ETag, without quotes.

        A part may be sent again and then replaces what came before.

        Raises:
            NotFound: ``upload_not_found``: joined, aborted or collected.
            Invalid: ``size_mismatch``, or ``invalid_request`` for a number out of range.
            Unavailable: ``storage_full``.
        """

    def part_url(self, upload: PartUpload, number: int, *, expires_s: int) -> str | None:
        """An address that takes part ``number`` by PUT from whoever has it.

        ``None`` where the store has none, and the part must come through :meth:`part_put`.
        """

    def parts_join(
        self, upload: PartUpload, etags: Mapping[int, str], *, sha256: str
    ) -> AbstractContextManager[Arrived]:
        """The whole, read through and measured; within the block it may be kept.

        Args:
            etags: The ETag each part was answered with.
            sha256: The digest the whole must have.

        Raises:
            NotFound: ``upload_not_found``.
            Invalid: ``digest_mismatch``, ``size_mismatch``, or ``invalid_request`` where a part
                is missing. After ``digest_mismatch`` the upload is gone.
        """

    def parts_abort(self, upload: PartUpload) -> None:
        """Forget the parts; forgetting what is not here is no error."""

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, seekable; the caller closes. Raises ``NotFound`` ``blob_not_found``."""

    def path(self, sha256: str) -> Path | None:
        """The file holding the bytes, for sendfile; ``None`` where the bytes are no local file."""

    def local(self, sha256: str) -> Path:
        """A local, read-only file with the bytes, fetched if need be; never write to it.

        It stays for minutes after the call, so copy from it at once.

        Raises:
            NotFound: ``blob_not_found``.
        """

    def url(
        self, sha256: str, *, expires_s: int, content_type: str, disposition: str
    ) -> str | None:
        """An address that gives the bytes by GET, ranges too, to whoever has it.

        ``None`` where the store has none. The answer carries ``content_type`` as Content-Type
        and ``disposition`` as Content-Disposition.
        """

    def size(self, sha256: str) -> int | None:
        """The length of what is stored, in bytes; ``None`` where nothing is."""

    def exists(self, sha256: str) -> bool:
        """Whether anything is stored under that digest."""

    def delete(self, sha256: str) -> None:
        """Forget the bytes; forgetting what is not here is no error."""

    def entries(self) -> Iterator[StoredEntry]:
        """Everything stored, in no order. What changes meanwhile may be listed or not."""

    def leftovers(self) -> Iterator[Leftover]:
        """Everything on its way in, parts of large files too."""

    def discard(self, leftover: Leftover) -> None:
        """Forget bytes that were on their way in."""
