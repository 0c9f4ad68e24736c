"""Runs batches on several copies of a build at the same time, as users and measurements do it."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

_Arrays = Mapping[str, npt.NDArray[np.generic]]

#: Batches that wait for each stream while others run, so that no stream waits for the caller.
_AHEAD = 2


class StreamCopy(Protocol):
    """An opened build."""

    def run(self, inputs: Any) -> Any:
        """Run once on arrays by name."""
        ...

    def close(self) -> None:
        """Release memory."""
        ...


def copy_of(opened: StreamCopy, open_again: Callable[[], StreamCopy]) -> StreamCopy:
    """Another handle on an opened build, for a thread of its own: one that shares its weights, if
    the runtime has such, else a build that is opened again."""
    share: Callable[[], StreamCopy] | None = getattr(opened, "share", None)
    return share() if share else open_again()


class Streams:
    """Copies of a build, each of which is opened and used by a thread of its own.

    Args:
        open_copy: Opens a copy; called in its thread, by one thread at a time. Its exceptions are
            raised by the constructor.
        count: Number of copies.
    """

    def __init__(self, open_copy: Callable[[], StreamCopy], count: int) -> None:
        self._open_copy = open_copy
        self._count = count
        self._own = threading.local()
        self._copies: list[StreamCopy] = []
        self._opening = threading.Lock()
        # Keeps every thread busy until all are started: each opens one copy.
        self._all_started = threading.Barrier(count)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="hpcfair-stream")
        started = [self._pool.submit(self._open) for _ in range(count)]
        try:
            for each in started:
                each.result()
        except BaseException:
            self.close()
            raise

    def map(self, batches: Iterable[_Arrays]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Outputs of batches, in their order; reads few batches more than it has returned."""
        running: deque[Future[Any]] = deque()
        try:
            for batch in batches:
                running.append(self._pool.submit(self._run, batch))
                if len(running) >= (1 + _AHEAD) * self._count:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for each in running:
                each.cancel()

    def close(self) -> None:
        """End the threads, after their current runs, and close all copies."""
        self._pool.shutdown(cancel_futures=True)
        while self._copies:
            self._copies.pop().close()

    def _open(self) -> None:
        try:
            with self._opening:
                self._own.copy = self._open_copy()
                self._copies.append(self._own.copy)
        finally:
            self._all_started.wait()

    def _run(self, batch: _Arrays) -> Any:
        return self._own.copy.run(batch)
