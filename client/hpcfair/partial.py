"""Downloads under way, in a folder any number of processes may share.

::

    <sha256>.<unique>.part   being written by somebody
    <sha256>.<unique>.rest   given up, for the next one to go on with
"""

import contextlib
import time
import uuid
from pathlib import Path

from hpcfair.paths import checked_sha256

#: The folder of them inside a folder of somebody's own.
STAGING = ".hpcfair-partial"
#: A .part file untouched for this long has lost its writer.
_ABANDONED_S = 120.0


class Partials:
    """The partial files in a folder, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, sha256: str) -> Path:
        """A file to download into, which nobody else writes: what somebody left, or a new one."""
        mine = self.folder / f"{checked_sha256(sha256)}.{uuid.uuid4().hex}.part"
        for left in self.folder.glob(f"{sha256}.*"):
            # The rename decides between two who find the same rest.
            with contextlib.suppress(OSError):
                if left.suffix == ".rest" or _age_s(left) > _ABANDONED_S:
                    left.rename(mine)
                    mine.touch()
                    return mine
        while True:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Somebody else may just be tidying up.
            with contextlib.suppress(FileNotFoundError):
                mine.touch()
                return mine

    def leave(self, part: Path) -> None:
        """Give up a download so that the next one may go on with it."""
        with contextlib.suppress(OSError):
            if part.stat().st_size:
                part.rename(part.with_suffix(".rest"))
            else:
                part.unlink()

    def tidy(self) -> None:
        """Remove the folder if nothing is in it."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime
