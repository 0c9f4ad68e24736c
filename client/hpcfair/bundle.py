"""The file of a bundle: of jobs for a device without a network, of the results of these jobs, or
of a model (:mod:`hpcfair.modelbundle`).

::

    bundle.json          the manifest in an envelope: for jobs and results a DSSE envelope
    blobs/<SHA-256>      the files, in the order of the manifest's list "blobs"

It is an uncompressed tar file, which :mod:`hpcfair.bundlefile` reads. Standard library only: hub,
device and client share both modules.
"""

import hashlib
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

#: Payload types of the envelopes, and the field ``schema`` of the manifests.
JOBS_TYPE: Final = "application/vnd.hpcfair.job-bundle+json"
JOBS_SCHEMA: Final = "hpcfair.job-bundle/1"
RESULTS_TYPE: Final = "application/vnd.hpcfair.job-results+json"
RESULTS_SCHEMA: Final = "hpcfair.job-results/1"
#: The same for the description by which a device without a network is enrolled.
IDENTITY_TYPE: Final = "application/vnd.hpcfair.device-identity+json"
IDENTITY_SCHEMA: Final = "hpcfair.device-identity/1"
#: A search key that no search has. Its answer serves for tools that the hub has no data for.
NO_SEARCH_KEY: Final = "0" * 64
#: Upper bounds on the envelope in bytes and on the number of files.
MAX_ENVELOPE_BYTES: Final = 64 * 2**20
MAX_BLOBS: Final = 100_000
#: Path of the envelope, and the blocks that end the file.
ENVELOPE: Final = "bundle.json"
END: Final = bytes(2 * tarfile.BLOCKSIZE)
_PIECE = 2**20


class BundleInvalid(Exception):
    """The file is not a bundle, or differs from the one that was written; the message says why.

    ``sha256``: the blob whose bytes are at fault, if it is one.
    """

    def __init__(self, message: str, sha256: str = "") -> None:
        super().__init__(message)
        self.sha256 = sha256


@dataclass(frozen=True, slots=True)
class BundledBlob:
    """A file of a bundle: its SHA-256 in hexadecimal digits and its size in bytes."""

    sha256: str
    size_bytes: int


def end_bytes(*, job: str, fence: int, outcome: str, result: Any) -> bytes:
    """The bytes that a device signs at the end of a claim: compact, key-sorted JSON of the
    arguments.

    Args:
        outcome: ``succeeded``, ``failed`` or ``released``.
        result: The result, the failure, or ``{}`` for a job that was released.
    """
    statement = {"job": job, "fence": fence, "outcome": outcome, "result": result}
    return json.dumps(statement, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def pieces(
    envelope: Mapping[str, Any],
    blobs: Iterable[BundledBlob],
    open_blob: Callable[[str], BinaryIO],
) -> Iterator[bytes]:
    """The bytes of a bundle, in pieces.

    Args:
        envelope: Its payload must list the blobs in the same order.
        open_blob: Opens the blob of a SHA-256 for reading; the stream is closed here.

    Raises:
        BundleInvalid: the bytes of a blob do not have its size or digest.
    """
    document = json.dumps(envelope, separators=(",", ":")).encode()
    yield header(ENVELOPE, len(document)) + document + padding(len(document))
    for blob in blobs:
        yield header(path_of(blob.sha256), blob.size_bytes)
        with open_blob(blob.sha256) as stream:
            yield from verified_pieces(stream, blob)
        yield padding(blob.size_bytes)
    yield END


def verified_pieces(stream: BinaryIO, blob: BundledBlob) -> Iterator[bytes]:
    """The bytes of a blob from a stream. Raises BundleInvalid at the end if size or digest
    differ."""
    digest, left_bytes = hashlib.sha256(), blob.size_bytes
    while left_bytes:
        piece = stream.read(min(left_bytes, _PIECE))
        if not piece:
            raise BundleInvalid(f"the bytes of {blob.sha256} are cut off", blob.sha256)
        digest.update(piece)
        left_bytes -= len(piece)
        yield piece
    if digest.hexdigest() != blob.sha256:
        raise BundleInvalid(f"the bytes of {blob.sha256} are damaged", blob.sha256)


def header(path: str, size: int) -> bytes:
    """The header of a file in a bundle."""
    member = tarfile.TarInfo(path)
    member.size = size
    # The GNU format stores sizes above 8 GiB without an extended header.
    return member.tobuf(tarfile.GNU_FORMAT)


def path_of(sha256: str) -> str:
    """The path of a blob in a bundle."""
    return f"blobs/{sha256}"


def padding(size: int) -> bytes:
    """The bytes between a file of this size and the next header."""
    return bytes(-size % tarfile.BLOCKSIZE)
