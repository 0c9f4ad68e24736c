"""Slots of inspections on this machine, so that several run at a time within its memory; and of
imports, which wait for other servers, so that they do not keep all workers.

A slot is a locked file: the kernel frees the slot of a killed worker. The last free slot takes no
inspection that is known to be costly, so that short ones always have one.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TextIO

from django.conf import settings

from hpcfair.machine import describe

#: Imports that a machine runs at a time.
IMPORT_SLOTS = 2

_MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot that is held. ``is_last``: of several, all others are held as well."""

    is_last: bool


def slot_count() -> int:
    """Number of inspections that this machine may run at a time."""
    if settings.INSPECT_SLOTS:
        return int(settings.INSPECT_SLOTS)
    return max(1, min(os.cpu_count() or 1, _total_bytes() // settings.CHILD_MEMORY_BYTES))


@contextmanager
def inspection_slot() -> Iterator[Slot | None]:
    """Hold a slot during the block; ``None`` if all are held, or if memory is short for one more.

    Memory never refuses the first slot.
    """
    folder = Path(settings.DATA_DIR) / "run" / "inspections"
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        slot = None
        # One process at a time, so that none mistakes another one's look for a held slot.
        with (folder / "gate").open("w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            count = slot_count()
            free = [lock for number in range(count) if (lock := _lock(folder / str(number)))]
            others = count - len(free)
            if free and (not others or _available_bytes() >= settings.CHILD_MEMORY_BYTES):
                slot = Slot(is_last=others > 0 and len(free) == 1)
                stack.enter_context(free.pop())
            for lock in free:
                lock.close()
        yield slot


@contextmanager
def import_slot() -> Iterator[bool]:
    """Hold a slot of imports during the block; false if all are held."""
    folder = Path(settings.DATA_DIR) / "run" / "imports"
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for number in range(IMPORT_SLOTS):
            lock = _lock(folder / str(number))
            if lock is not None:
                stack.enter_context(lock)
                yield True
                return
        yield False


def _lock(path: Path) -> TextIO | None:
    """The locked file; ``None`` if another process holds it."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


@cache
def _total_bytes() -> int:
    return describe().memory_bytes or 0


def _available_bytes() -> int:
    """Memory that new processes can use without swapping; 0 if unknown."""
    text = _MEMINFO.read_text() if _MEMINFO.exists() else ""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0
