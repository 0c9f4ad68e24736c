"""Reproducible ZIP archives that are built while they are sent.

The length is computed before packing, and any range can be sent. Members are stored uncompressed;
their checksums follow them and are repeated in the directory (PKWARE's APPNOTE 6.3.10, sections
4.3.9 and 4.3.12). A range in the middle costs the reading of all files before it.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zipfile import ZipFile, ZipInfo

# Bytes that ZIP64 adds: to a member's header and checksums, per directory number, to the end.
_LARGE_HEADER, _LARGE_CHECKSUMS = 20, 8
_LARGE_NUMBERS, _LARGE_NUMBER = 4, 8
_LARGE_END = 76
# Margin by which the standard library chooses ZIP64 before it knows the length.
_MARGIN = 1.05
# Range of times that the format can represent.
_FIRST, _LAST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, tzinfo=UTC)
_READABLE_BY_ALL = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """One file; ``open`` opens its bytes, which are read when they are sent."""

    path: str
    size_bytes: int
    sha256: str
    open: Callable[[], Iterable[bytes]]


class Archive:
    """Files with one modification time."""

    def __init__(self, members: Sequence[Member], moment: datetime) -> None:
        self._members = members
        at = min(max(moment.astimezone(UTC), _FIRST), _LAST)
        self._time = (at.year, at.month, at.day, at.hour, at.minute, at.second)

    @property
    def etag(self) -> str:
        """Strong entity tag of the archive's bytes, in quotes."""
        members = [[one.path, one.size_bytes, one.sha256] for one in self._members]
        # Another version of zipfile may write other bytes.
        content = json.dumps([sys.version_info[:2], self._time, members])
        return f'"{hashlib.sha256(content.encode()).hexdigest()}"'

    def __len__(self) -> int:
        """Length in bytes, computed without reading a file."""
        sink = _Sink()
        with ZipFile(sink, "w") as empty:
            for one in self._members:
                with empty.open(self._info(one.path, 0), "w"):
                    pass
        length, shift, large = sum(map(len, sink.take())), 0, zipfile.ZIP64_LIMIT
        for one, info in zip(self._members, empty.filelist, strict=True):
            numbers = 2 * (one.size_bytes > large) + (info.header_offset + shift > large)
            length += _LARGE_NUMBERS + _LARGE_NUMBER * numbers if numbers else 0
            shift += one.size_bytes
            if one.size_bytes * _MARGIN > large:
                shift += _LARGE_HEADER + _LARGE_CHECKSUMS
        # With very many files, the empty archive has a ZIP64 end already.
        is_many = len(self._members) > zipfile.ZIP_FILECOUNT_LIMIT
        is_grown = not is_many and empty.start_dir + shift > large
        return length + shift + (_LARGE_END if is_grown else 0)

    def stream(self, first: int, length: int) -> Iterator[bytes]:
        """``length`` bytes from position ``first``.

        Raises ``OSError`` if a file has another length than stated, after the bytes before it.
        """
        for block in self._packed():
            if first >= len(block):
                first -= len(block)
                continue
            part = block[first : first + length]
            first, length = 0, length - len(part)
            yield part
            if not length:
                return

    def _packed(self) -> Iterator[bytes]:
        sink = _Sink()
        with ZipFile(sink, "w") as archive:
            for one in self._members:
                left = one.size_bytes
                with archive.open(self._info(one.path, one.size_bytes), "w") as member:
                    for block in one.open():
                        left -= len(block)
                        member.write(block)
                        yield from sink.take()
                if left:
                    raise OSError(f"{one.path} does not have the stated length")
        yield from sink.take()

    def _info(self, path: str, size_bytes: int) -> ZipInfo:
        info = ZipInfo(path, self._time)
        info.file_size = size_bytes
        info.external_attr = _READABLE_BY_ALL
        return info


class _Sink:
    """A buffer of written bytes; without ``tell``, so that zipfile does not seek."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered elsewhere."""

    def close(self) -> None:
        """Do nothing: there is no resource to release."""

    def take(self) -> list[bytes]:
        parts, self._parts = self._parts, []
        return parts
