"""Measurement of received bytes: digest, length and git id, checked against the announced ones."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from registry.errors import Invalid, NotFound, TooLarge
from registry.storage.base import Arrived, PartUpload, Readable
from registry.storage.digest import git_hasher, git_oid_of, pieces

#: Shorter pieces are hashed faster than handed to a thread.
_WORTH_A_THREAD = 2**18


class ByteMeter:
    """Reads a stream once, and measures and checks it.

    Raises ``TooLarge`` ``body_too_large`` if the announced length is too large.
    """

    def __init__(
        self, stream: Readable, *, size_bytes: int | None, limit_bytes: int | None
    ) -> None:
        if size_bytes is not None and limit_bytes is not None and size_bytes > limit_bytes:
            raise too_large(limit_bytes)
        self._stream = stream
        self._announced, self._limit = size_bytes, limit_bytes
        self._sha256, self.length = hashlib.sha256(), 0
        # Git hashes the length first: if it is announced, one pass over the bytes is enough.
        self._sha1 = None if size_bytes is None else git_hasher(size_bytes)

    def pieces(self) -> Iterator[bytes]:
        """The stream's bytes; at most one piece beyond the allowed length is read.

        Raises ``Invalid`` ``size_mismatch``; ``TooLarge`` ``body_too_large``.
        """
        hashers = [self._sha256] if self._sha1 is None else [self._sha256, self._sha1]
        # Hashing releases the GIL, so it runs while the caller writes the piece.
        with ThreadPoolExecutor(len(hashers)) as pool:
            for piece in pieces(self._stream):
                self.length += len(piece)
                self._check(self.length, whole=False)
                if len(piece) < _WORTH_A_THREAD:
                    for hasher in hashers:
                        hasher.update(piece)
                    yield piece
                    continue
                hashing = [pool.submit(hasher.update, piece) for hasher in hashers]
                yield piece
                for one in hashing:
                    one.result()
        self._check(self.length, whole=True)

    def arrived(self, place: str, *, sha256: str | None, again: Callable[[], BinaryIO]) -> Arrived:
        """The measured bytes, which are stored temporarily at ``place``.

        ``sha256`` is the expected digest, if known; ``again`` opens the bytes again, for git's id
        if no length was announced. Raises ``Invalid`` ``digest_mismatch``.
        """
        if sha256 is not None:
            self.check_digest(sha256)
        actual = self._sha256.hexdigest()
        if self._sha1 is not None:
            return Arrived(actual, self.length, self._sha1.hexdigest(), place)
        with again() as stream:
            return Arrived(actual, self.length, git_oid_of(stream, self.length), place)

    def check_digest(self, sha256: str) -> None:
        """Refuse bytes with another SHA-256. Raises ``Invalid`` ``digest_mismatch``."""
        actual = self._sha256.hexdigest()
        if actual != sha256:
            raise Invalid(
                "digest_mismatch",
                f"The bytes have SHA-256 {actual}, not {sha256[:100]}.",
                "Send the file again; it changed or was damaged on its way.",
            )

    def _check(self, length: int, *, whole: bool) -> None:
        if self._limit is not None and length > self._limit:
            raise too_large(self._limit)
        if self._announced is not None and (
            length > self._announced or (whole and length < self._announced)
        ):
            raise wrong_size(length, self._announced)


def check_part(upload: PartUpload, number: int) -> None:
    """Refuse an invalid part number. Raises ``Invalid`` ``invalid_request``."""
    if not 1 <= number <= upload.count:
        raise Invalid(
            "invalid_request", f"The upload has parts 1 to {upload.count}, there is no {number}."
        )


def check_all_parts(upload: PartUpload, numbers: set[int]) -> None:
    """Refuse to join unless every part was named. Raises ``Invalid`` ``invalid_request``."""
    required = set(range(1, upload.count + 1))
    if numbers != required:
        raise Invalid(
            "invalid_request",
            f"The upload has {upload.count} parts, {len(numbers & required)} of them were named.",
            "Send every part, then name each with the ETag it was answered with.",
        )


def no_blob(sha256: str) -> NotFound:
    """The error for a digest under which nothing is stored."""
    return NotFound("blob_not_found", f"No bytes are stored as {sha256[:100]!r}.")


def no_upload() -> NotFound:
    """The error for an upload that was joined, aborted or collected, or never existed."""
    return NotFound(
        "upload_not_found",
        "There is no such upload under way.",
        "Begin the upload of this file anew.",
    )


def too_large(limit_bytes: int) -> TooLarge:
    """The error for more bytes than this hub accepts."""
    return TooLarge(
        "body_too_large",
        f"The hub takes files of at most {limit_bytes} bytes.",
        "Split the file, or ask the hub's operator for a higher limit.",
    )


def wrong_size(length: int, announced: int) -> Invalid:
    """The error for another number of bytes than was announced."""
    read = f"more than {announced}" if length > announced else str(length)
    return Invalid(
        "size_mismatch",
        f"{read} bytes came, {announced} were announced.",
        "Send the file again; it changed or was cut off on its way.",
    )
