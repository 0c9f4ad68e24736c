"""Serialisation of chunks as a range of a xorb, uncompressed, from the bytes of a file."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from registry.xet.packing import pack_header


class RawStream(Protocol):
    """A closable source of exactly the bytes of some chunks."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class FramedChunks:
    """A readable stream of chunks, each with its header (:mod:`registry.xet.packing`)."""

    def __init__(self, raw: RawStream, lengths: Iterable[int], *, skip: int) -> None:
        """Serialise what ``raw`` contains.

        Args:
            raw: The concatenated chunks.
            lengths: Bytes of each chunk, in order.
            skip: Number of leading bytes, with headers, that are left out.
        """
        self._raw = raw
        self._pieces = self._serialised(lengths)
        self._waiting = memoryview(b"")
        self._skip = skip

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes, fewer at the end; all of the rest if ``size`` is negative."""
        parts: list[bytes | memoryview] = []
        left = size
        while left != 0:
            if not self._waiting:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._waiting = memoryview(piece)[self._skip :]
                self._skip -= len(piece) - len(self._waiting)
                continue
            part = self._waiting[:left] if left > 0 else self._waiting
            self._waiting = self._waiting[len(part) :]
            parts.append(part)
            left -= len(part) if left > 0 else 0
        return b"".join(parts)

    def close(self) -> None:
        """Close the source."""
        self._raw.close()

    def _serialised(self, lengths: Iterable[int]) -> Iterator[bytes]:
        for length in lengths:
            yield pack_header(length)
            left = length
            while left and (piece := self._raw.read(left)):
                left -= len(piece)
                yield piece
