"""The same call for many objects in parallel, where each waits for a disk or a server."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: Measured disks were no faster with more threads, and every request may start as many.
_THREADS = 8


def in_parallel(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Call ``work`` for each of ``items``, some at a time; returns when all calls have ended.

    Exceptions of ``work`` propagate; of several, one.
    """
    waiting = list(items)
    if len(waiting) == 1:
        work(waiting[0])
    elif waiting:
        # Threads of this call alone: those of a shared pool would be missing after a fork.
        with ThreadPoolExecutor(min(_THREADS, len(waiting))) as pool:
            for _ in pool.map(work, waiting):
                pass
