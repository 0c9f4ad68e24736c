"""A ZIP that is made while it is sent, of the same bytes each time.

So its length and any part of it can be told before it is packed. Members are stored as they are;
their checksums follow them and stand again at the end (PKWARE's APPNOTE 6.3.10, sections 4.3.9 and
4.3.12). Who goes on in the middle costs the reading of what comes before, not its sending.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zipfile import ZipFile, ZipInfo

# What the format adds to what is longer than its first numbers could say: to the header and the
# checksums of a member, to each number in the directory, to its end.
_LARGE_HEADER, _LARGE_CHECKSUMS = 20, 8
_LARGE_NUMBERS, _LARGE_NUMBER = 4, 8
_LARGE_END = 76
# As the standard library decides it before it knows the length for certain.
_MARGIN = 1.05
# Years that the format can tell.
_FIRST, _LAST = datetime(1980, 1, 1, tzinfo=UTC), datetime(2107, 12, 31, tzinfo=UTC)
_READABLE_BY_ALL = 0o644 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """One file.

    Attributes:
        open: The bytes, read when its turn comes.
    """

    path: str
    size_bytes: int
    sha256: str
    open: Callable[[], Iterable[bytes]]


class Archive:
    """Files under one time: that at which what they make up was made."""

    def __init__(self, members: Sequence[Member], moment: datetime) -> None:
        self._members = members
        at = min(max(moment.astimezone(UTC), _FIRST), _LAST)
        self._time = (at.year, at.month, at.day, at.hour, at.minute, at.second)

    @property
    def etag(self) -> str:
        """The same for the same bytes, and for no others; in quotes."""
        members = [[one.path, one.size_bytes, one.sha256] for one in self._members]
        # What packs them may do so otherwise in its next version.
        told = json.dumps([sys.version_info[:2], self._time, members])
        return f'"{hashlib.sha256(told.encode()).hexdigest()}"'

    def __len__(self) -> int:
        """In bytes, found out without reading a file."""
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
        # Of very many files the empty one has a large end already.
        is_many = len(self._members) > zipfile.ZIP_FILECOUNT_LIMIT
        is_grown = not is_many and empty.start_dir + shift > large
        return length + shift + (_LARGE_END if is_grown else 0)

    def stream(self, first: int, length: int) -> Iterator[bytes]:
        """So many bytes from a position on.

        Raises:
            OSError: a file is not as long as was promised. All that came before is out.
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
                    raise OSError(f"{one.path} is not of the length that was promised")
        yield from sink.take()

    def _info(self, path: str, size_bytes: int) -> ZipInfo:
        info = ZipInfo(path, self._time)
        info.file_size = size_bytes
        info.external_attr = _READABLE_BY_ALL
        return info


class _Sink:
    """What is written, until it is taken; without ``tell``, so that nobody goes back in it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing was opened."""

    def take(self) -> list[bytes]:
        taken, self._parts = self._parts, []
        return taken
