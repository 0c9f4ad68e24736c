"""Waiting for a process's threads."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from workers.engine.quiet import wait_until_quiet


@contextmanager
def busy(seconds: float) -> Iterator[threading.Thread]:
    """A thread that looks for work for so long."""
    end = time.monotonic() + seconds

    def look() -> None:
        while time.monotonic() < end:
            pass

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def test_it_waits_as_long_as_a_thread_computes() -> None:
    with busy(0.3) as thread:
        wait_until_quiet()
        assert not thread.is_alive()


def test_it_does_not_wait_for_ever() -> None:
    with busy(3.0) as thread:
        wait_until_quiet()
        assert thread.is_alive()
