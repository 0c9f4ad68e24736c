"""A process that builds the index, or lets it catch up, outside of requests.

Any web process starts it, on whichever host lacks an index. The lock of the build keeps it single
on its folder; killed, it continues when it is started again.
"""

import subprocess
import sys
import threading
import time

from django.conf import settings

_COMMAND = (sys.executable, "-m", "django", "reindex", "--catch-up")
#: Least seconds between two starts by this process.
_INTERVAL_S = 5.0

_lock = threading.Lock()
_process: "subprocess.Popen[bytes] | None" = None
_started_at = 0.0


def start() -> None:
    """Start the process, unless one of this process is running or was started just now."""
    global _process, _started_at  # noqa: PLW0603 - one child per process
    with _lock:
        if _process is not None and _process.poll() is None:
            return
        if _started_at and time.monotonic() - _started_at < _INTERVAL_S:
            return
        _started_at = time.monotonic()
        # A session of its own: Ctrl-C in a terminal ends the web server's processes only.
        _process = subprocess.Popen(
            _COMMAND, cwd=settings.BASE_DIR, stdin=subprocess.DEVNULL, start_new_session=True
        )
