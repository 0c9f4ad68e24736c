"""Streaming verification of a xorb from an untrusted client.

A serialised xorb is the concatenation of its chunks (:mod:`registry.xet.packing`) and, from some
clients, a redundant footer, which begins with a letter, where a chunk begins with a zero byte.
Source: xet-core ``xorb_object/{constants,xorb_object_format}.rs``.
"""

from registry.storage.base import Readable
from registry.xet.chunks import chunk_records
from registry.xet.hashes import MerkleTree, chunk_hash, is_sampled
from registry.xet.packing import HEADER_BYTES, bad_xorb, parse_header, unpack

MAX_RAW_BYTES = 64 * 2**20
MAX_CHUNKS = 8192
# Hash, packed offset and raw offset of each chunk, and a fixed part.
_MAX_FOOTER_BYTES = MAX_CHUNKS * 40 + 4096
#: Maximum length of an uploaded xorb, with all chunks uncompressed.
MAX_BYTES = MAX_RAW_BYTES + MAX_CHUNKS * HEADER_BYTES + _MAX_FOOTER_BYTES


class XorbReader:
    """Passes on the bytes of a serialised xorb, and has verified all of them at its end.

    Buffers at most one piece and one chunk. If :meth:`read` raises, the caller must discard all
    bytes that it has read.
    """

    def __init__(self, stream: Readable, digest: bytes) -> None:
        """Read from ``stream`` a xorb whose address has the hash ``digest``."""
        self._stream = stream
        self._digest = digest
        self._tree = MerkleTree()
        self._chunks: list[tuple[bytes, int, int]] = []
        self._raw_bytes = 0
        self._rest = b""  # beginning of a chunk that is not complete yet
        self._footer_bytes = -1  # no footer yet
        self._verified = False

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most ``size``; ``b""`` at the end.

        Raises ``Invalid`` ``invalid_xorb``.
        """
        piece = self._stream.read(size)
        if piece:
            self._take(piece)
        else:
            self._end()
        return piece

    def records(self) -> bytes:
        """The list of chunks, see :mod:`registry.xet.chunks`, after the end was read."""
        if not self._verified:
            raise RuntimeError("the xorb was not read to its end")
        return chunk_records(self._chunks)

    @property
    def chunk_count(self) -> int:
        """Number of chunks read."""
        return len(self._chunks)

    def sampled(self) -> list[tuple[int, bytes]]:
        """Position and hash of the chunks that clients may query."""
        return [
            (position, digest)
            for position, (digest, _, _) in enumerate(self._chunks)
            # Clients also query a file's first chunk, which is mostly a xorb's first.
            if position == 0 or is_sampled(digest)
        ]

    def _take(self, piece: bytes) -> None:
        if self._footer_bytes >= 0:
            self._take_footer(len(piece))
            return
        data = memoryview(self._rest + piece if self._rest else piece)
        at = 0
        while at < len(data):
            if data[at] != 0:
                self._footer_bytes, self._rest = 0, b""
                self._take_footer(len(data) - at)
                return
            if len(data) - at < HEADER_BYTES:
                break
            header = parse_header(data[at : at + HEADER_BYTES])
            end = at + HEADER_BYTES + header.packed_bytes
            if end > len(data):
                break
            raw = unpack(header, data[at + HEADER_BYTES : end])
            self._note(chunk_hash(raw), len(raw), end - at)
            at = end
        self._rest = bytes(data[at:])

    def _take_footer(self, length: int) -> None:
        self._footer_bytes += length
        if self._footer_bytes > _MAX_FOOTER_BYTES:
            raise bad_xorb("bytes that are no chunk and too long for a footer")

    def _note(self, digest: bytes, raw_bytes: int, packed_bytes: int) -> None:
        self._raw_bytes += raw_bytes
        if self._raw_bytes > MAX_RAW_BYTES:
            raise bad_xorb(f"more than {MAX_RAW_BYTES} bytes")
        if len(self._chunks) == MAX_CHUNKS:
            raise bad_xorb(f"more than {MAX_CHUNKS} chunks")
        self._tree.add(digest, raw_bytes)
        self._chunks.append((digest, raw_bytes, packed_bytes))

    def _end(self) -> None:
        if self._verified:
            return
        if self._rest:
            raise bad_xorb("a chunk that is cut off")
        if not self._chunks:
            raise bad_xorb("no chunk")
        if self._tree.root() != self._digest:
            raise bad_xorb("chunks of another hash than its address")
        self._verified = True
