"""The list of a xorb's chunks, as the hub stores it.

One record of 40 bytes per chunk, little-endian::

    hash     32 bytes
    raw      u32: bytes unpacked
    packed   u32: bytes in the payload, with the chunk's header
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from registry.xet.hashes import HASH_BYTES

# DANGER: rows hold such records. A new format needs a new column and a migration.
RECORD = np.dtype([("hash", f"V{HASH_BYTES}"), ("raw", "<u4"), ("packed", "<u4")])


def chunk_records(chunks: Iterable[tuple[bytes, int, int]]) -> bytes:
    """The records of (hash, raw length, packed length)."""
    return np.array(list(chunks), dtype=RECORD).tobytes()


class ChunkList:
    """A xorb's chunks: hashes and offsets, unpacked and in the payload; ranges exclude ``end``."""

    def __init__(self, records: bytes | memoryview) -> None:
        self._records = np.frombuffer(records, dtype=RECORD)
        self._raw = _starts(self._records["raw"])
        self._packed = _starts(self._records["packed"])

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> npt.NDArray[np.void]:
        """The records as an array of :data:`RECORD`."""
        return self._records

    def hashes(self, first: int, end: int) -> bytes:
        """The concatenated hashes of a range of chunks."""
        return self._records["hash"][first:end].tobytes()

    def lengths(self, first: int, end: int) -> list[int]:
        """The unpacked lengths in bytes of a range of chunks."""
        lengths: list[int] = self._records["raw"][first:end].tolist()
        return lengths

    def raw_bytes(self, first: int, end: int) -> int:
        """The total unpacked bytes of a range of chunks."""
        return int(self._raw[end] - self._raw[first])

    def packed_span(self, first: int, end: int) -> tuple[int, int]:
        """Byte offset and length in the payload of a range of chunks."""
        return int(self._packed[first]), int(self._packed[end] - self._packed[first])


def _starts(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
