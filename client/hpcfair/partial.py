"""Downloads in progress, in a folder that any number of processes may share.

::

    <sha256>.<unique>.part   being written
    <sha256>.<unique>.rest   interrupted, to be resumed
"""

import contextlib
import os
import time
import uuid
from pathlib import Path

from hpcfair.paths import checked_sha256

#: Name of the folder of partial files inside a folder of the user.
STAGING = ".hpcfair-partial"
#: A .part file that was not written for this long is abandoned.
_ABANDONED_S = 120.0


class Partials:
    """The partial files in a folder, which is created on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, sha256: str) -> Path:
        """A file for this process alone to download into: an interrupted one, or a new one."""
        mine = self.folder / f"{checked_sha256(sha256)}.{uuid.uuid4().hex}.part"
        for left in self.folder.glob(f"{sha256}.*"):
            # The rename decides between two processes that find the same file.
            with contextlib.suppress(OSError):
                if left.suffix == ".rest" or _age_s(left) > _ABANDONED_S:
                    left.rename(mine)
                    mine.touch()
                    return mine
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Another process may be removing it.
            with contextlib.suppress(FileNotFoundError):
                mine.touch()
                return mine

    def active(self, sha256: str, within_s: float) -> dict[Path, os.stat_result]:
        """The files that were written within so many seconds, by processes that download into them
        or were killed meanwhile."""
        states = {}
        now = time.time()
        for part in self.folder.glob(f"{checked_sha256(sha256)}.*.part"):
            with contextlib.suppress(OSError):
                state = part.stat()
                if now - state.st_mtime <= within_s:
                    states[part] = state
        return states

    def leave(self, part: Path) -> None:
        """Release an interrupted download, so that the next one can resume it."""
        with contextlib.suppress(OSError):
            if part.stat().st_size:
                part.rename(part.with_suffix(".rest"))
            else:
                part.unlink()

    def tidy(self) -> None:
        """Remove the folder if it is empty."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime
