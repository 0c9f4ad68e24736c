"""Long answers that one address receives at a time.

A crate or a pack occupies a thread of its process until the client has received it. An anonymous
address may occupy some of a process's threads, never all. The count is kept in the process whose
threads are counted, so that a killed process leaves no count behind.
"""

import threading
from collections import Counter

_lock = threading.Lock()
_open: Counter[str] = Counter()


def begin(key: str, most: int) -> bool:
    """Count an answer to ``key``; ``False`` if ``most`` are open. Each ``True`` needs an `end`."""
    with _lock:
        if _open[key] >= most:
            return False
        _open[key] += 1
        return True


def end(key: str) -> None:
    """Count an answer as complete."""
    with _lock:
        _open[key] -= 1
        if _open[key] <= 0:
            del _open[key]
