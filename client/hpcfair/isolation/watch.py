"""Watches what a child process uses in all, and kills it above its limits."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from hpcfair.isolation.errors import ChildFailed
from hpcfair.isolation.limits import Limits
from hpcfair.isolation.usage import Exceeded, require_within

#: Seconds between two looks. A child that starts no programs has hard limits for most of it, and
#: may be measured, so it is looked at seldom.
_EVERY_S = 1.0
_PROGRAMS_EVERY_S = 0.2
#: Share of one core that looking may cost; large workspaces are looked at less often.
_SHARE = 0.05
_MAX_PAUSE_S = 5.0


class UsageWatch:
    """A thread that watches one child process from its start to :meth:`stop`.

    Args:
        group: Process id of the child, which leads its process group. It must not be reaped before
            :meth:`stop`, because its number could be reused.
    """

    def __init__(self, group: int, limits: Limits, workspace: Path, *, programs: bool) -> None:
        self._group, self._limits, self._workspace = group, limits, workspace
        self._programs = programs
        self._excess: Exceeded | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch-{group}", daemon=True)
        self._thread.start()

    def stop(self) -> ChildFailed | None:
        """End the thread; returns the failure of a child that it has killed."""
        self._stopped.set()
        self._thread.join()
        if self._excess is None:
            return None
        detail = f"it was stopped, because it and its programs had {self._excess}"
        return ChildFailed("crash", detail, self._excess.cause)

    def _run(self) -> None:
        pause_s = every_s = _PROGRAMS_EVERY_S if self._programs else _EVERY_S
        while not self._stopped.wait(pause_s):
            started_s = time.monotonic()
            try:
                require_within(self._limits, self._group, self._workspace, programs=self._programs)
            except Exceeded as excess:
                self._excess = excess
                for kill in (os.killpg, os.kill):
                    with suppress(ProcessLookupError, PermissionError):
                        kill(self._group, signal.SIGKILL)
                return
            pause_s = min(max(every_s, (time.monotonic() - started_s) / _SHARE), _MAX_PAUSE_S)
