"""Limits of a child process."""

from dataclasses import dataclass

_MOST = 2**70
_UNITS = ((60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"))


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child process. Exceeding one ends the child, never its parent.

    Attributes:
        wall_s: Seconds of one call.
        memory_bytes: Memory of the child, and of it and the programs that it started together.
        file_bytes: Size of one file, and of all files of a build.
        disk_bytes: All files in its workspace, and those that it has deleted but holds open.
        files: Files and folders in its workspace.
        processes: Processes at once, itself included, if it may start programs.
    """

    wall_s: float = 300.0
    memory_bytes: int = 8 * 2**30
    file_bytes: int = 8 * 2**30
    disk_bytes: int = 16 * 2**30
    files: int = 50_000
    processes: int = 512


def shown(count: int) -> str:
    """A number of bytes for people, such as ``256 MiB``."""
    power, unit = next(((p, u) for p, u in _UNITS if count >> p), (0, "bytes"))
    if count >= _MOST:
        return f"more than {_MOST >> 60:,} EiB"
    # Integers, because the product of many dimensions exceeds the range of a float.
    tenths = (10 * count) >> power
    return (
        f"{tenths // 10:,} {unit}" if tenths % 10 == 0 else f"{tenths // 10:,}.{tenths % 10} {unit}"
    )
