"""One process downloads a large file into a cache, and the others wait for it.

This only saves transfers, and nothing relies on it: a process that is slow to see the file of
another one downloads the same bytes beside it. A download that does not grow any more is not waited
for, because its process may have been killed.
"""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.types import File

_log = logging.getLogger("hpcfair")
#: Smaller files are downloaded sooner than it is noticed that somebody else does.
_WORTH_BYTES = 8 * 2**20
#: A download that did not grow for this long is not waited for.
_STALLED_S = 15.0
#: Upper bound of the intervals at which other downloads are looked at.
_LOOK_S = 2.0
#: Waits from which on the user is told.
_SILENT_S = 2.0


def start_alone(cache: Cache, file: File, what: str) -> Path | None:
    """A partial file to download into; ``None`` if another process has downloaded the file.

    Args:
        what: Name of the file's owner, for the message.
    """
    partials = cache.partials
    stalled: set[Path] = set()
    while file.size_bytes >= _WORTH_BYTES:
        stalled |= _wait(cache, file, what, stalled)
        if cache.has(file):
            return None
        mine = partials.start(file.sha256)
        states = partials.active(file.sha256, _STALLED_S)
        # Of processes that started at the same moment, the first one goes on.
        if mine not in states or mine == min(states.keys() - stalled, key=_order(states)):
            return mine
        partials.leave(mine)
    return partials.start(file.sha256)


def _wait(cache: Cache, file: File, what: str, stalled: set[Path]) -> set[Path]:
    """Wait while others download the file; returns their partial files that do not grow any more.

    Args:
        stalled: Partial files that are not waited for.
    """
    began = grew = time.monotonic()
    interval_s, count, is_told = 0.1, -1, False
    while not cache.has(file):
        states = cache.partials.active(file.sha256, _STALLED_S)
        others = states.keys() - stalled
        if not others:
            break
        now, total = time.monotonic(), sum(states[path].st_size for path in others)
        if total != count:
            count, grew = total, now
        elif now - grew > _STALLED_S:
            return set(others)
        if now - began > _SILENT_S and not is_told:
            is_told = True
            _log.warning("Waiting for another process that downloads %s of %s.", file.path, what)
        time.sleep(interval_s)
        interval_s = min(_LOOK_S, interval_s * 1.5)
    return set()


def _order(states: dict[Path, os.stat_result]) -> Callable[[Path], tuple[bool, int, str]]:
    """The order of partial files: those with bytes, then by the clock of the file system."""
    return lambda path: (states[path].st_size == 0, states[path].st_mtime_ns, path.name)
