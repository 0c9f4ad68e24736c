"""Embeddings of the distinct network structures of a generation, for searches by similarity.

::

    structures-<architecture class>-<dimensions>    records: graph hash (32 bytes), unit vector

Records are only appended: a structure whose last model was deleted stays until the next rebuild,
and no search result has it. Readers map the files into memory, so that processes share one copy.
Vectors of different dimensions cannot be compared.

A search compares a vector with all of its architecture class in one matrix product, before it looks
at the others: 200,000 structures are 36 MB (ADR 34).
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAME = re.compile(r"structures-([a-z-]+)-([0-9]+)")
_HASH_BYTES = 32
#: Structures sorted first; each further part has four times as many.
_FIRST_PART = 256


class StructureWriter:
    """Appends structures. Its user holds the lock of the generation.

    Args:
        folder: Folder of the generation.
        is_indexed: Whether a committed document has a structure, by its hash.
    """

    def __init__(self, folder: Path, is_indexed: Callable[[str], bool]) -> None:
        self._folder = folder
        self._is_indexed = is_indexed
        self._pending: dict[str, tuple[Path, bytes]] = {}

    def add(self, structure: str, architecture_class: str, vector: Sequence[float]) -> None:
        """Append a structure unless it is indexed already. Vectors of no length are left out."""
        if not vector or structure in self._pending or self._is_indexed(structure):
            return
        values = np.asarray(vector, np.float64)
        values = values / (float(np.linalg.norm(values)) or 1.0)
        record = bytes.fromhex(structure) + values.astype("<f4").tobytes()
        path = self._folder / f"structures-{architecture_class}-{len(values)}"
        self._pending[structure] = path, record

    def commit(self) -> None:
        """Make the appended structures durable. Raises ``OSError``."""
        files: dict[Path, list[bytes]] = {}
        for path, record in self._pending.values():
            files.setdefault(path, []).append(record)
        for path, records in files.items():
            with path.open("ab") as file:
                # A process that was killed, or a full disk, may have left a part of a record.
                file.truncate(file.tell() // len(records[0]) * len(records[0]))
                file.write(b"".join(records))
                file.flush()
                os.fsync(file.fileno())
        self._pending.clear()


class StructureGroup:
    """The structures of one architecture class, compared with a reference.

    Attributes:
        architecture_class: Of all structures of the group.
    """

    def __init__(self, path: Path, architecture_class: str, reference: NDArray[np.float64]) -> None:
        self.architecture_class = architecture_class
        record = np.dtype(
            [
                ("start", "<u8"),
                ("rest", f"V{_HASH_BYTES - 8}"),
                ("vector", "<f4", (len(reference),)),
            ]
        )
        count = path.stat().st_size // record.itemsize
        self._records: NDArray[Any] = np.memmap(path, record, "r", shape=(count,))
        unit = reference / (float(np.linalg.norm(reference)) or 1.0)
        products = self._records["vector"] @ unit.astype(np.float32)
        self._cosines = np.round(products.astype(np.float64), 6)

    def ranked(self, most: float, among: Collection[str] | None) -> Iterator[tuple[float, str]]:
        """Negative cosine and hash of structures, most similar first, then by hash.

        Args:
            most: Largest cosine.
            among: Hashes of the structures to compare; ``None`` for all.
        """
        chosen = self._cosines <= most
        if among is not None:
            starts = [int.from_bytes(bytes.fromhex(one)[:8], "little") for one in among]
            chosen &= np.isin(self._records["start"], np.asarray(starts, np.uint64))
        left = np.flatnonzero(chosen)
        size = _FIRST_PART
        while len(left):
            if len(left) > size:
                # All structures of the least cosine of this part belong to it.
                cosines = self._cosines[left]
                least = np.partition(cosines, len(left) - size)[len(left) - size]
                part, left = left[cosines >= least], left[cosines < least]
            else:
                part, left = left, left[:0]
            # A set: a structure may have been appended twice.
            yield from sorted({(float(-self._cosines[at]), self._hash(at)) for at in part})
            size *= 4

    def _hash(self, at: int) -> str:
        return bytes(self._records[at].tobytes()[:_HASH_BYTES]).hex()


def groups(
    folder: Path, architecture_class: str, reference: Sequence[float]
) -> Iterator[StructureGroup]:
    """The structures comparable with a reference: first its own class, then all others."""
    vector = np.asarray(reference, np.float64)
    paths = {}
    for path in sorted(folder.glob(f"structures-*-{len(vector)}")):
        match = _NAME.fullmatch(path.name)
        # At first, a killed process may have left less than a record.
        if match and path.stat().st_size >= _HASH_BYTES + 4 * len(vector):
            paths[match[1]] = path
    for name in sorted(paths, key=lambda name: (name != architecture_class, name)):
        yield StructureGroup(paths[name], name, vector)
