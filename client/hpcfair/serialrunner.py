"""Runs an opened build for the threads and coroutines of a program."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib import import_module
from typing import Any, TypeVar

from hpcfair.errors import RuntimeFailed
from hpcfair.measurement.placement import SHORTEST_RUN_NS, CallerPlacement
from hpcfair.measurement.streams import Streams, copy_of
from hpcfair.runtimes.base import Array, Runtime

_Arrays = dict[str, Array]
R = TypeVar("R")


class SerialRunner:
    """A build that is run by one thread at a time, or over several streams.

    Calls of several threads wait for one another: a run was measured with all cores that it uses to
    itself, and two at once would take longer together. Streams are for throughput.

    Args:
        open_build: Opens the build; called again for streams of a runtime that cannot share it.
        place_caller: See :class:`hpcfair.LoadOptions`.

    Attributes:
        runtime: The opened build.
        caller_placed: Whether the calling thread was placed in the last run.
    """

    def __init__(self, open_build: Callable[[], Runtime], *, place_caller: bool | None) -> None:
        self._open_build = open_build
        self.runtime = open_build()
        self.caller_placed = False
        self._placement = (
            None
            if place_caller is False
            else CallerPlacement(
                self.runtime, SHORTEST_RUN_NS, only_unrestricted=place_caller is None
            )
        )
        self._turn = threading.Lock()
        self._streams: Streams | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._is_closed = False

    def run(self, inputs: _Arrays) -> _Arrays:
        """Outputs of one run, by the names of the runtime."""
        with self._turn:
            with self._placement or nullcontext():
                outputs = self.runtime.run(inputs)
            self.caller_placed = self._placement is not None and self._placement.is_active
        return outputs

    def map(self, batches: Iterable[_Arrays], streams: int) -> Iterator[_Arrays]:
        """Outputs of batches, in order, by that number of runs at the same time."""
        if streams == 1:
            return map(self.run, batches)
        with self._turn:
            self._require_open()
            if self._streams is None:
                self._streams = Streams(lambda: copy_of(self.runtime, self._open_build), streams)
        return self._streams.map(batches)

    async def call(self, function: Callable[[], R]) -> R:
        """The result of a function that runs the build, called by a thread that serves coroutines.

        A call that is cancelled while it waits is not made; one that has begun ends unheard.
        """
        with self._turn:
            self._require_open()
            if self._executor is None:
                # One thread: more would only wait for their turn.
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="hpcfair-async")
            future = self._executor.submit(function)
        # Imported here: it takes 15 ms, and most programs have no event loop.
        wrapped: Any = import_module("asyncio").wrap_future(future)
        result: R = await wrapped
        return result

    def close(self) -> None:
        """End threads after their current run, drop calls that wait, release the build."""
        with self._turn:
            self._is_closed = True
            executor, streams = self._executor, self._streams
        # Without the lock, for which their runs may wait.
        if executor is not None:
            executor.shutdown(cancel_futures=True)
        with self._turn:
            if streams is not None:
                streams.close()
            self.runtime.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise RuntimeFailed("this model has been closed")
