"""Checks PyTorch's zip archives and pickles without unpickling.

The globals of a pickle determine what loading it can call. They are compared with a short
allow-list: those that ``torch.save`` writes for plain tensors. Source of the opcodes:
``pickletools`` of the standard library.
"""

import io
import pickletools
import re
import stat
import zipfile
from pathlib import Path
from typing import IO

from hpcfair.formats import TENSOR_GLOBALS
from workers.inspection.interface import Unusable

MAX_MEMBERS = 200_000
#: Opcodes that obtain a callable without naming it in the opcode itself.
_HIDDEN = frozenset({"STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"})
_TENSOR_FILE = re.compile(
    r"data\.pkl|byteorder|version|\.format_version|\.storage_alignment|data/\d+|\.data/[^/]+"
)


def members_of(archive: zipfile.ZipFile, source: Path | bytes) -> dict[str, zipfile.ZipInfo]:
    """Members of an archive that PyTorch wrote, by name without the top-level folder.

    Archives that two readers could interpret differently are rejected: a second directory,
    duplicate names, or names that differ in case. Raises Unusable if PyTorch does not write such
    archives.
    """
    if not _tail(source, 22).startswith(b"PK\x05\x06"):
        raise Unusable("its archive does not end with its directory")
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise Unusable(f"it has more than {MAX_MEMBERS:,} members")
    # A short archive could otherwise name the same bytes many times, each to be read.
    if sum(member.file_size for member in members) > _size(source):
        raise Unusable("its members overlap, or claim more bytes than it has")
    by_name: dict[str, zipfile.ZipInfo] = {}
    roots = {member.filename.partition("/")[0] for member in members}
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise Unusable("its archive is compressed, which PyTorch never does")
        # The upper half has the type and mode of a Unix file; PyTorch writes none.
        if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG}:
            raise Unusable(f"{member.filename!r:.200} in its archive is a link or a special file")
        # A directory with a wrong position would move its members: zipfile seeks there.
        if member.header_offset < 0:
            raise Unusable("its archive has a member that starts before the file does")
        by_name[member.filename.partition("/")[2]] = member
    if len(roots) != 1 or len({name.lower() for name in by_name}) != len(members):
        raise Unusable("names of its archive are not in one folder, or duplicate")
    return by_name


def check_tensor_file(data: bytes) -> None:
    """Reject a file of ``torch.save`` with anything but tensors in containers.

    Raises:
        Unusable: with the names that it would import.
        zipfile.BadZipFile: it is not an archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = members_of(archive, data)
        for name in names:
            if not _TENSOR_FILE.fullmatch(name):
                raise Unusable(f"its sample inputs hold {name!r}")
        with archive.open(names["data.pkl"]) as stream:
            check_pickle(stream)


def check_pickle(stream: IO[bytes]) -> None:
    """Reject a pickle with globals other than those that rebuild tensors.

    Raises:
        Unusable: with the name of the global.
        ValueError: it is not a pickle.
    """
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name in _HIDDEN:
            raise Unusable(f"a pickle in it hides what it imports ({opcode.name})")
        if opcode.name == "GLOBAL" and argument not in TENSOR_GLOBALS:
            raise Unusable(f"a pickle in it would import {argument!r}")


def _size(source: Path | bytes) -> int:
    return len(source) if isinstance(source, bytes) else source.stat().st_size


def _tail(source: Path | bytes, count: int) -> bytes:
    if isinstance(source, bytes):
        return source[-count:]
    with source.open("rb") as file:
        file.seek(0, io.SEEK_END)
        file.seek(max(0, file.tell() - count))
        return file.read()
