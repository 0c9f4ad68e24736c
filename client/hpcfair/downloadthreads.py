"""Downloads several files at once, over one connection each.

While one file waits for the hub or the disk, another one arrives; the digests of several files are
computed on several cores.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from hpcfair.progress import Meter

Item = TypeVar("Item")

#: Upper bound on the downloads of a process at once.
_THREADS = 4
#: After a failure, the others are waited for this long. They stop at their next block; a silent
#: connection would hold up the error, or Ctrl-C, for its whole timeout.
_STOP_S = 5.0


class _Stopped(Exception):
    """Ends a download whose result is no longer needed."""


def download_all(
    items: Sequence[Item], download: Callable[[Item, Meter], None], meter: Meter
) -> None:
    """Call ``download`` for each item, in threads if there are several.

    The first failure is raised. The other downloads then end: no further one starts, and those in
    progress keep their bytes for the next attempt.

    Args:
        download: Gets an item, and the meter to advance with each block.
    """
    if len(items) < 2:
        for item in items:
            download(item, meter)
        return
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    outcomes: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    stop = _Stop(meter)
    # Daemons: one that is blocked by a silent connection must not keep the process from ending.
    threads = [
        threading.Thread(
            target=_work,
            args=(waiting, download, stop, outcomes),
            name=f"download-{number}",
            daemon=True,
        )
        for number in range(min(_THREADS, len(items)))
    ]
    try:
        for thread in threads:
            thread.start()
        failure = next(filter(None, (outcomes.get() for _ in threads)), None)
    finally:
        stop.is_set = True
        _join(threads)
    if failure:
        raise failure


class _Stop:
    """A meter that ends the download that advances it, once ``is_set``."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.is_set = False

    def advance(self, amount: int) -> None:
        if self.is_set:
            raise _Stopped
        self._meter.advance(amount)

    def show(self, done: int, total: int | None, message: str) -> None:
        self._meter.show(done, total, message)


def _work(
    waiting: "queue.SimpleQueue[Item]",
    download: Callable[[Item, Meter], None],
    stop: _Stop,
    outcomes: "queue.SimpleQueue[BaseException | None]",
) -> None:
    try:
        while not stop.is_set:
            download(waiting.get_nowait(), stop)
    except queue.Empty:
        outcomes.put(None)
    except BaseException as error:  # noqa: BLE001 - raised in the thread of the caller
        outcomes.put(error)


def _join(threads: Iterable[threading.Thread]) -> None:
    deadline = time.monotonic() + _STOP_S
    for thread in threads:
        if thread.is_alive():
            thread.join(max(0.0, deadline - time.monotonic()))
