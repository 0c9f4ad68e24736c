"""Kinds of file systems, and reading ahead where single pages are slow.

Runtimes map files into memory and touch them page by page. On a local disk that reads only what is
needed. On a file system across a network, each page of 4 KiB is a request; large sequential reads
before are tens of times as fast, and leave the pages in memory.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

#: Magic numbers of statfs(2) of file systems across a network, and of FUSE, below which anything
#: may be.
NETWORK = {
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x6969: "NFS",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB 2",
    0x517B: "SMB",
    0x65735546: "FUSE",
    0x00C36400: "Ceph",
    0x19830326: "BeeGFS",
    0x20030528: "OrangeFS",
    0xAAD7AAEA: "PanFS",
    0x5346414F: "AFS",
    0x01021997: "9P",
}
#: Bytes of one read: several stripes of a parallel file system.
BLOCK_BYTES = 16 * 2**20
#: Files that fill more of the main memory would push out their own pages.
_MOST_OF_MEMORY = 0.5


def network_name(magic: int) -> str:
    """Name of the file system across a network with this number; empty for a local one."""
    return NETWORK.get(magic, "")


def magic_of(path: Path) -> int:
    """The number of the file system of ``path``; 0 if it is not known (not Linux)."""
    try:
        statfs = ctypes.CDLL(None, use_errno=True).statfs
    except (OSError, AttributeError):
        return 0
    # The structure begins with the number, as a word; it has 120 bytes on 64-bit Linux.
    buffer = ctypes.create_string_buffer(512)
    if os.uname().sysname != "Linux" or statfs(os.fsencode(path), buffer):
        return 0
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def read_ahead(files: Iterable[Path], magic: int) -> int:
    """Read files into the system's memory, in order and large blocks, if they lie across a network
    and fit. Returns the number of bytes that were read.

    Args:
        magic: Of their file system.
    """
    paths = list(files)
    if not network_name(magic) or sum(map(_size, paths)) > _MOST_OF_MEMORY * _memory_bytes():
        return 0
    block = bytearray(BLOCK_BYTES)
    count = 0
    for path in paths:
        # What cannot be read is reported by who opens it.
        with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            while read := file.readinto(block):
                count += read
    return count


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
