"""Reads single places of a large file, with an upper bound on all bytes that are read."""

import struct
from typing import Any, BinaryIO

from registry.weightsfiles.facts import Unreadable

_PAGE_BYTES = 2**14
_MOST_PAGES = 2**11


class Places:
    """A part of a file by offsets. Raises Unreadable outside of it, and beyond the bound.

    Args:
        begin, size_bytes: Where the part is; its first byte has the offset 0.
    """

    def __init__(self, stream: BinaryIO, begin: int, size_bytes: int) -> None:
        self._stream = stream
        self._begin = begin
        self._size = size_bytes
        self._pages: dict[int, bytes] = {}

    def take(self, offset: int, length: int) -> bytes:
        """``length`` bytes."""
        if not 0 <= offset <= offset + length <= self._size:
            raise Unreadable(f"It names a place outside the file, {offset:,}.")
        first, last = offset // _PAGE_BYTES, (offset + length) // _PAGE_BYTES
        if len(self._pages) + last - first >= _MOST_PAGES:
            most = _MOST_PAGES * _PAGE_BYTES
            raise Unreadable(f"Its description has more than the {most:,} bytes that are read.")
        data = b"".join(map(self._page, range(first, last + 1)))
        start = offset - first * _PAGE_BYTES
        return data[start : start + length]

    def numbers(self, code: str, offset: int) -> tuple[Any, ...]:
        """Little-endian numbers in the notation of :mod:`struct`."""
        code = f"<{code}"
        return struct.unpack(code, self.take(offset, struct.calcsize(code)))

    def number(self, code: str, offset: int) -> Any:
        """One number."""
        return self.numbers(code, offset)[0]

    def _page(self, place: int) -> bytes:
        if place not in self._pages:
            start = place * _PAGE_BYTES
            self._stream.seek(self._begin + start)
            self._pages[place] = self._stream.read(min(_PAGE_BYTES, max(0, self._size - start)))
        return self._pages[place]
