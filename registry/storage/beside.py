"""Doing the same to many things at once, where each waits for a disk or a server."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: More of them made no measured disk any faster, and every request may have as many.
_AT_ONCE = 8


def side_by_side(work: Callable[[T], object], things: Iterable[T]) -> None:
    """``work`` for each of ``things``, some at a time; returns when none goes on any more.

    What ``work`` raises passes through, of several failures one.
    """
    waiting = list(things)
    if len(waiting) == 1:
        work(waiting[0])
    elif waiting:
        # Threads of this call alone: those of a pool that lasts would be missing after a fork.
        with ThreadPoolExecutor(min(_AT_ONCE, len(waiting))) as pool:
            for _ in pool.map(work, waiting):
                pass
