"""One serialised chunk of a xorb: a header of eight bytes and its bytes, mostly compressed.

::

    u8    version, 0
    u24   packed length, little-endian
    u8    scheme: 0 uncompressed, 1 an LZ4 frame, 2 byte planes in an LZ4 frame
    u24   raw length, little-endian

Scheme 2 suits arrays of four-byte numbers: it has every fourth byte from byte 0 on, then from
byte 1 on, 2, 3. Source: xet-core ``xorb_object/{xorb_chunk_format,compression_scheme}.rs``.
"""

import struct
from dataclasses import dataclass

import lz4.frame
import numpy as np

from registry.errors import Invalid

HEADER_BYTES = 8
MAX_RAW_BYTES = 128 * 1024
_MAX_PACKED_BYTES = 2 * MAX_RAW_BYTES
_AS_IS, _LZ4, _PLANES = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """The header of a chunk; lengths in bytes, without the header."""

    packed_bytes: int
    scheme: int
    raw_bytes: int


def parse_header(data: memoryview) -> ChunkHeader:
    """The header in the first :data:`HEADER_BYTES` of ``data``.

    Raises ``Invalid`` ``invalid_xorb`` for values out of range, which bounds all later reads and
    allocations.
    """
    header = ChunkHeader(
        int.from_bytes(data[1:4], "little"), data[4], int.from_bytes(data[5:8], "little")
    )
    if data[0] != 0 or header.scheme not in {_AS_IS, _LZ4, _PLANES}:
        raise bad_xorb(f"a chunk of version {data[0]} and scheme {header.scheme}")
    if not 0 < header.raw_bytes <= MAX_RAW_BYTES:
        raise bad_xorb(f"a chunk of {header.raw_bytes} bytes")
    if not 0 < header.packed_bytes <= _MAX_PACKED_BYTES:
        raise bad_xorb(f"a chunk packed into {header.packed_bytes} bytes")
    return header


def pack_header(raw_bytes: int) -> bytes:
    """The header of an uncompressed chunk of ``raw_bytes`` bytes."""
    return struct.pack("<II", raw_bytes << 8, raw_bytes << 8 | _AS_IS)


def unpack(header: ChunkHeader, packed: memoryview) -> bytes | memoryview:
    """The chunk's bytes, ``header.raw_bytes`` of them.

    Raises ``Invalid`` ``invalid_xorb``, also if more bytes would result.
    """
    raw: bytes | memoryview = packed
    if header.scheme != _AS_IS:
        raw = _from_frame(packed, header.raw_bytes)
    if len(raw) != header.raw_bytes:
        raise bad_xorb(f"a chunk of {len(raw)} bytes where {header.raw_bytes} were announced")
    return _interleave(raw) if header.scheme == _PLANES else raw


def bad_xorb(what: str) -> Invalid:
    """The error for a xorb that contains ``what``."""
    return Invalid(
        "invalid_xorb",
        f"The xorb is damaged or forged: {what}.",
        "Upload again; if it happens again, the client or the network damages data.",
    )


def _from_frame(packed: memoryview, raw_bytes: int) -> bytes:
    frame = lz4.frame.LZ4FrameDecompressor()
    try:
        # One byte more than allowed, to detect excess and to reach the end mark.
        raw: bytes = frame.decompress(packed, max_length=raw_bytes + 1)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise bad_xorb(f"an unreadable LZ4 frame ({error})") from None
    if len(raw) > raw_bytes or not frame.eof or frame.unused_data:
        raise bad_xorb(f"an LZ4 frame that does not hold {raw_bytes} bytes exactly")
    return raw


def _interleave(planes: bytes | memoryview) -> bytes:
    data = np.frombuffer(planes, dtype=np.uint8)
    raw, start = np.empty_like(data), 0
    for plane in range(4):
        end = start + len(raw[plane::4])
        raw[plane::4] = data[start:end]
        start = end
    return raw.tobytes()
