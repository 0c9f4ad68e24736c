"""Reads of what two files have in common, so that a client with one of them fetches the difference.

Files are compared by their chunks: content-defined, so that bytes which moved are found, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from registry.selectors.storage.reconstruction import chunks_of
from registry.tables import Blob

#: Upper bound on the size of both files: their lists of chunks are compared in memory.
MAX_BYTES = 64 * 2**30


@dataclass(frozen=True, slots=True)
class EqualRange:
    """``size_bytes`` at ``offset`` of a file, which lie at ``earlier_offset`` of an earlier one."""

    offset: int
    earlier_offset: int
    size_bytes: int


def equal_ranges(blob: Blob, earlier: Blob) -> list[EqualRange]:
    """The ranges of ``blob`` that ``earlier`` contains, in order and disjoint; in whole chunks.

    Raises ``NotFound``: ``xorb_not_found`` if the chunks of one of them are not recorded.
    """
    if max(blob.size_bytes, earlier.size_bytes) > MAX_BYTES:
        return []
    return list(_joined(_equal_chunks(blob, earlier)))


def _equal_chunks(blob: Blob, earlier: Blob) -> Iterator[EqualRange]:
    hashes: list[bytes] = []
    offsets: list[int] = []
    at = 0
    for digest, length in chunks_of(earlier):
        hashes.append(digest)
        offsets.append(at)
        at += length
    positions = {digest: position for position, digest in enumerate(hashes)}
    offset, next_position = 0, 0
    for digest, length in chunks_of(blob):
        # Of equal chunks, rather the one behind the last, which makes longer ranges.
        follows = next_position < len(hashes) and hashes[next_position] == digest
        position = next_position if follows else positions.get(digest)
        if position is not None:
            yield EqualRange(offset, offsets[position], length)
            next_position = position + 1
        offset += length


def _joined(ranges: Iterator[EqualRange]) -> Iterator[EqualRange]:
    last: EqualRange | None = None
    for span in ranges:
        if last is None:
            last = span
        elif (
            span.offset == last.offset + last.size_bytes
            and span.earlier_offset == last.earlier_offset + last.size_bytes
        ):
            size_bytes = last.size_bytes + span.size_bytes
            last = EqualRange(last.offset, last.earlier_offset, size_bytes)
        else:
            yield last
            last = span
    if last is not None:
        yield last
