"""Assembly of a file from the locations of its chunks."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from registry.xet.packing import HEADER_BYTES, bad_xorb, parse_header, unpack

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of the blob ``sha256``; complete chunks of a xorb's payload if ``packed``."""

    sha256: str
    offset: int
    length: int
    packed: bool


class Assembly:
    """A readable stream of the concatenated ``extents``; buffers about 1 MiB."""

    def __init__(self, extents: Iterable[Extent], opened: Callable[[str], BinaryIO]) -> None:
        self._pieces = _pieces(extents, opened)
        self._waiting = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most ``size``; ``b""`` at the end.

        Raises ``Invalid`` ``invalid_xorb`` if a payload was damaged after it was verified.
        """
        while not self._waiting:
            piece = next(self._pieces, None)
            if piece is None or 0 < len(piece) <= size:
                return piece or b""
            self._waiting = memoryview(piece)
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        return bytes(data)

    def close(self) -> None:
        """Close the open blob."""
        self._pieces.close()


def _pieces(
    extents: Iterable[Extent], opened: Callable[[str], BinaryIO]
) -> Generator[bytes, None, None]:
    name, stream = "", None
    with ExitStack() as stack:
        for extent in extents:
            # Consecutive extents are mostly of one blob, which is opened once.
            if stream is None or extent.sha256 != name:
                stack.close()
                name, stream = extent.sha256, stack.enter_context(opened(extent.sha256))
            stream.seek(extent.offset)
            yield from _unpacked(stream, extent) if extent.packed else _plain(stream, extent)


def _plain(stream: BinaryIO, extent: Extent) -> Iterator[bytes]:
    left = extent.length
    while left:
        piece = stream.read(min(left, _PIECE_BYTES))
        if not piece:
            raise bad_xorb("its chunks are in a file that is truncated")
        left -= len(piece)
        yield piece


def _unpacked(stream: BinaryIO, extent: Extent) -> Iterator[bytes]:
    rest = b""
    for piece in _plain(stream, extent):
        data, at = memoryview(rest + piece), 0
        raw: list[bytes | memoryview] = []
        while at + HEADER_BYTES <= len(data):
            header = parse_header(data[at : at + HEADER_BYTES])
            end = at + HEADER_BYTES + header.packed_bytes
            if end > len(data):
                break
            raw.append(unpack(header, data[at + HEADER_BYTES : end]))
            at = end
        rest = bytes(data[at:])
        yield b"".join(raw)
