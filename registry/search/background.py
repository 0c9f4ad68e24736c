"""A process that builds the index, or lets it catch up, outside of requests.

Any web process starts it, on whichever host lacks an index. The lock of the build keeps it single
on its folder; killed, it continues when it is started again. The interval between two starts
doubles with each failure, so that a full disk does not cause one every few seconds.
"""

import subprocess
import sys
import threading
import time

from django.conf import settings

_COMMAND = (sys.executable, "-m", "django", "reindex", "--catch-up")
#: Least seconds between two starts by this process; doubled by each failure, up to the longest.
_INTERVAL_S, _LONGEST_INTERVAL_S = 5.0, 300.0

_lock = threading.Lock()
_process: "subprocess.Popen[bytes] | None" = None
_started_at = 0.0
_interval_s = _INTERVAL_S


def start() -> None:
    """Start the process, unless one of this process is running or was started just now."""
    global _process, _started_at, _interval_s  # noqa: PLW0603 - one child per process
    with _lock:
        if _process is not None:
            status = _process.poll()
            if status is None:
                return
            _process = None
            _interval_s = min(2 * _interval_s, _LONGEST_INTERVAL_S) if status else _INTERVAL_S
        if _started_at and time.monotonic() - _started_at < _interval_s:
            return
        _started_at = time.monotonic()
        # A session of its own: Ctrl-C in a terminal ends the web server's processes only.
        _process = subprocess.Popen(
            _COMMAND, cwd=settings.BASE_DIR, stdin=subprocess.DEVNULL, start_new_session=True
        )
