"""Zip archives of PyTorch and Keras, without trust in their directory."""

import io
import json
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

from registry.weightsfiles.facts import Unreadable

#: ``zipfile`` reads the whole directory.
_MOST_DIRECTORY_BYTES = 16 * 2**20
_END, _END_64, _LOCATOR_64 = 22, 56, 20
_IN_64 = 0xFFFFFFFF


def open_archive(stream: BinaryIO, size_bytes: int) -> zipfile.ZipFile:
    """The archive; raises Unreadable if it is none, or its directory is too large."""
    if _directory_bytes(stream, size_bytes) > _MOST_DIRECTORY_BYTES:
        raise Unreadable("The directory of its archive is too large to be read.")
    try:
        return zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise Unreadable(f"Its archive is damaged: {error}.") from error


def read_member(archive: zipfile.ZipFile, name: str, most_bytes: int) -> bytes:
    """At most ``most_bytes`` bytes of a member; raises Unreadable if it is damaged."""
    try:
        with archive.open(name) as member:
            return member.read(most_bytes)
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, RuntimeError, EOFError) as error:
        raise Unreadable(f"{name} in its archive is damaged: {error}.") from error


def read_json(archive: zipfile.ZipFile, name: str, most_bytes: int) -> dict[str, Any]:
    """A JSON object in an archive; raises Unreadable if there is none."""
    data = read_member(archive, name, most_bytes + 1)
    if len(data) > most_bytes:
        raise Unreadable(f"{name} in its archive has more than {most_bytes:,} bytes.")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name} in its archive is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise Unreadable(f"{name} in its archive is not a JSON object.")
    return content


def _directory_bytes(stream: BinaryIO, size_bytes: int) -> int:
    """Size of the directory. Both tools write it last, without a comment."""
    length = min(size_bytes, _END + _LOCATOR_64 + _END_64)
    stream.seek(-length, io.SEEK_END)
    tail = stream.read(length)
    stream.seek(0)
    end = tail[-_END:]
    if len(end) < _END or not end.startswith(b"PK\x05\x06"):
        raise Unreadable("It does not end like an archive.")
    size: int = struct.unpack_from("<I", end, 12)[0]
    if size != _IN_64:
        return size
    end_64 = tail[:_END_64]
    if not end_64.startswith(b"PK\x06\x06"):
        raise Unreadable("It does not end like an archive.")
    return int(struct.unpack_from("<Q", end_64, 40)[0])
