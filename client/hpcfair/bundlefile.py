"""Reads the file of a bundle.

A reader accepts only the bytes that :func:`hpcfair.bundle.pieces` writes for the same envelope and
files: each header is compared with the one that it must be. Other paths, links, special files,
extended headers and compression are refused without being interpreted, and no blob can be larger
than the file itself.
"""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hpcfair.bundle import (
    END,
    ENVELOPE,
    MAX_BLOBS,
    MAX_ENVELOPE_BYTES,
    BundledBlob,
    BundleInvalid,
    header,
    padding,
    path_of,
    verified_pieces,
)
from hpcfair.typingnames import Self

_BLOCK = tarfile.BLOCKSIZE
_HEXADECIMAL = frozenset("0123456789abcdef")
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.DIRTYPE: "a folder",
    tarfile.XHDTYPE: "an extended header",
    tarfile.XGLTYPE: "an extended header",
    tarfile.GNUTYPE_LONGNAME: "an extended header",
    tarfile.GNUTYPE_LONGLINK: "an extended header",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class BundleFile:
    """A bundle whose structure, signature and digests were verified; a context manager.

    Attributes:
        envelope: The signed envelope.
        manifest: Its payload.
        blobs: Sizes in bytes by SHA-256, in the order of the file.
    """

    def __init__(self, path: Path, verify: Callable[[Any], Any]) -> None:
        """Open and verify the file.

        Args:
            verify: Takes the envelope and returns its payload if the signature is valid. Its
                exceptions are passed on. It is called before any blob is read.

        Raises:
            BundleInvalid: the file is malformed or damaged.
            OSError: it cannot be read.
        """
        self._file = path.open("rb")
        try:
            self.envelope = _envelope(self._file)
            self.manifest: dict[str, Any] = verify(self.envelope)
            blobs = _blobs_of(self.manifest)
            self.blobs = {blob.sha256: blob.size_bytes for blob in blobs}
            self._starts = {blob.sha256: self._start_of(blob) for blob in blobs}
            self._require_end()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def pieces_of(self, sha256: str) -> Iterator[bytes]:
        """The bytes of a blob, verified again: the file may have changed since it was opened.

        Raises:
            KeyError: the bundle has no such blob.
            BundleInvalid: the bytes have changed; raised after the last piece.
        """
        self._file.seek(self._starts[sha256])
        yield from verified_pieces(self._file, BundledBlob(sha256, self.blobs[sha256]))

    def content_of(self, sha256: str) -> bytes:
        """All bytes of a blob; raises as :meth:`pieces_of`."""
        return b"".join(self.pieces_of(sha256))

    def offset_of(self, sha256: str) -> int:
        """Where the bytes of a blob begin in the file. Raises KeyError: there is no such blob."""
        return self._starts[sha256]

    def copy(self, sha256: str, path: Path) -> None:
        """Write a blob to ``path``; raises as :meth:`pieces_of`, and leaves no file then."""
        if sha256 not in self.blobs:
            raise KeyError(sha256)
        try:
            with path.open("wb") as out:
                for piece in self.pieces_of(sha256):
                    out.write(piece)
        except BundleInvalid:
            path.unlink()
            raise

    def _start_of(self, blob: BundledBlob) -> int:
        """Read and verify the next blob; returns the offset of its bytes in the file."""
        _expect(self._file, header(path_of(blob.sha256), blob.size_bytes))
        start = self._file.tell()
        for _ in verified_pieces(self._file, blob):
            pass
        _expect(self._file, padding(blob.size_bytes))
        return start

    def _require_end(self) -> None:
        _expect(self._file, END)
        if self._file.read(1):
            raise BundleInvalid("bytes follow the end of the bundle")


class BlobStream(io.RawIOBase):
    """A blob of an open bundle as a stream, read once."""

    def __init__(self, bundle: BundleFile, sha256: str) -> None:
        super().__init__()
        self._pieces = bundle.pieces_of(sha256)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def _envelope(file: BinaryIO) -> Any:
    block = file.read(_BLOCK)
    try:
        size = tarfile.TarInfo.frombuf(block, "utf-8", "strict").size
    except (tarfile.HeaderError, UnicodeError) as error:
        raise BundleInvalid("the file is not a bundle: it does not begin with a header") from error
    if not 0 < size <= MAX_ENVELOPE_BYTES:
        raise BundleInvalid(f"a manifest of {size} bytes, of at most {MAX_ENVELOPE_BYTES}")
    _expect(io.BytesIO(block), header(ENVELOPE, size))
    document = file.read(size)
    if len(document) < size:
        raise BundleInvalid("the file is cut off")
    _expect(file, padding(size))
    try:
        return json.loads(document)
    except (ValueError, RecursionError) as error:
        raise BundleInvalid("the manifest's envelope is not JSON") from error


def _blobs_of(manifest: Any) -> list[BundledBlob]:
    try:
        blobs = [BundledBlob(blob["sha256"], blob["size_bytes"]) for blob in manifest["blobs"]]
    except (KeyError, TypeError) as error:
        raise BundleInvalid("the manifest does not list the files") from error
    if len(blobs) > MAX_BLOBS:
        raise BundleInvalid(f"{len(blobs)} files, of at most {MAX_BLOBS}")
    if not all(map(_is_valid, blobs)):
        raise BundleInvalid("the manifest lists a file without a SHA-256 or a size")
    if len({blob.sha256 for blob in blobs}) < len(blobs):
        raise BundleInvalid("the manifest lists a file twice")
    return blobs


def _is_valid(blob: BundledBlob) -> bool:
    digest, size = blob.sha256, blob.size_bytes
    is_digest = isinstance(digest, str) and len(digest) == 64 and set(digest) <= _HEXADECIMAL
    return is_digest and type(size) is int and size >= 0


def _expect(file: BinaryIO, expected: bytes) -> None:
    block = file.read(len(expected))
    if block == expected:
        return
    if len(block) < len(expected):
        raise BundleInvalid("the file is cut off")
    try:
        member = tarfile.TarInfo.frombuf(block[:_BLOCK], "utf-8", "replace")
    except tarfile.HeaderError as error:
        raise BundleInvalid("the file has other bytes than the manifest lists") from error
    kind = _KINDS.get(member.type, "a file" if member.isreg() else "a special file")
    raise BundleInvalid(f"{kind} {member.name[:100]!r} that a bundle does not have at this place")
