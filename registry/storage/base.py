"""The contract of every place that keeps bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """Bytes that are stored: their SHA-256, their length and git's id of them as a blob object."""

    sha256: str
    size_bytes: int
    git_oid: str


class Readable(Protocol):
    """Something that gives bytes until it gives none: a file, or the body of a request."""

    def read(self, size: int, /) -> bytes: ...


class BlobStore(Protocol):
    """Keeps bytes under the SHA-256 of their content.

    A blob is visible whole or not at all, and what :meth:`put` returned survives a crash of the
    process and of the machine. All methods may be called from several threads and processes at
    once, on the same digest too.
    """

    def put(
        self,
        stream: Readable,
        *,
        sha256: str | None = None,
        size_bytes: int | None = None,
        limit_bytes: int | None = None,
    ) -> StoredBlob:
        """Read ``stream`` to its end and keep its bytes.

        The stream is read even where the bytes are stored already: whoever hands in a digest
        must prove to have the bytes.

        Args:
            stream: Read in pieces; never held in memory.
            sha256: The digest the bytes must have.
            size_bytes: The length they must have.
            limit_bytes: The greatest length taken.

        Raises:
            Invalid: ``digest_mismatch`` or ``size_mismatch``; nothing is kept.
            TooLarge: ``body_too_large``; nothing is kept.
            Unavailable: ``storage_full``; nothing is kept.
        """

    def open(self, sha256: str) -> BinaryIO:
        """The bytes, seekable; the caller closes. Raises ``NotFound`` ``blob_not_found``."""

    def path(self, sha256: str) -> Path | None:
        """The file holding the bytes, for sendfile; ``None`` where the bytes are no local file."""

    def exists(self, sha256: str) -> bool:
        """Whether the bytes are here."""

    def delete(self, sha256: str) -> None:
        """Forget the bytes; forgetting what is not here is no error."""

    def digests(self) -> Iterator[str]:
        """The digest of everything stored, in no order."""
