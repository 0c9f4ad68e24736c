"""What a child process and the programs it started use: memory, processes, files, bytes on disk.

Resource limits hold per process and per file; these sums are over the process group, which the
system-call filter does not let anybody leave, and over the workspace. Read from ``/proc``
(``proc(5)``, ``proc_pid_smaps(5)``); elsewhere only the workspace is counted.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hpcfair.isolation.limits import Limits, shown

_PROC = Path("/proc")
_BLOCK = 512
#: Nested folders that are counted; deeper ones are refused, because paths have a maximum length.
_MAX_DEPTH = 64


class Exceeded(Exception):
    """A limit is exceeded: ``cause`` as of ``ChildFailed``, the text says by how much."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


def require_within(limits: Limits, group: int, workspace: Path, *, programs: bool) -> None:
    """Raise Exceeded if the process group ``group`` or its ``workspace`` is over a limit.

    ``programs`` tells whether there may be other processes in the group than its leader.
    """
    if sys.platform == "linux":
        members = list(_members(group)) if programs else [group]
        if len(members) > limits.processes:
            raise Exceeded(
                "processes", f"{len(members)} processes at once, the limit is {limits.processes}"
            )
        _require_memory(limits, members)
    else:
        members = []
    _require_disk(limits, workspace, members)


def _members(group: int) -> Iterator[int]:
    """Processes of a group."""
    for entry in os.scandir(_PROC):
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2]
                # State, parent, group: proc_pid_stat(5).
                if int(fields.split()[2]) == group:
                    yield int(entry.name)


def _require_memory(limits: Limits, members: list[int]) -> None:
    resident = sum(_fields(pid, "status", ("RssAnon:", "RssShmem:", "VmSwap:")) for pid in members)
    if resident <= limits.memory_bytes:
        return
    if len(members) > 1:
        # Pages that processes share were counted in each; this count is exact, and slow.
        names = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
        resident = sum(_fields(pid, "smaps_rollup", names) for pid in members)
    if resident > limits.memory_bytes:
        raise Exceeded(
            "memory", f"{shown(resident)} of memory, the limit is {shown(limits.memory_bytes)}"
        )


def _fields(pid: int, file: str, names: tuple[str, ...]) -> int:
    """The sum of fields of a file of a process, in bytes; 0 if it has ended."""
    with suppress(OSError):
        lines = (_PROC / str(pid) / file).read_text(errors="replace").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
    return 0


def _require_disk(limits: Limits, workspace: Path, members: list[int]) -> None:
    # By inode: processes share descriptors, and a file may have several names.
    blocks = {
        (status.st_dev, status.st_ino): status.st_blocks
        for status in (*_unlinked(members), *_entries(workspace, limits.files))
    }
    used = sum(blocks.values()) * _BLOCK
    if used > limits.disk_bytes:
        raise Exceeded("disk", f"{shown(used)} of files, the limit is {shown(limits.disk_bytes)}")


def _unlinked(members: list[int]) -> Iterator[os.stat_result]:
    """Open files without a name: deleted ones, which a folder does not list."""
    for pid in members:
        with suppress(OSError):
            for entry in os.scandir(_PROC / str(pid) / "fd"):
                with suppress(OSError):
                    status = entry.stat()
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                        yield status


def _entries(folder: Path, most: int) -> Iterator[os.stat_result]:
    """Everything in a folder, links not followed. Raises Exceeded above ``most`` entries."""
    count, pending = 0, [(str(folder), 1)]
    while pending:
        path, depth = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    count += 1
                    if count > most:
                        raise Exceeded("files", f"more than {most:,} files and folders, the limit")
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(status.st_mode):
                            pending.append((entry.path, depth + 1))
                        yield status
        except (FileNotFoundError, NotADirectoryError):
            # It was removed meanwhile.
            continue
        except OSError as error:
            raise Exceeded("files", f"a folder that cannot be listed: {error.strerror}") from error
        if depth > _MAX_DEPTH:
            raise Exceeded("files", f"folders nested more than {_MAX_DEPTH} deep")
