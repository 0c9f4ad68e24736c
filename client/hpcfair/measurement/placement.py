"""Keeps the thread that calls a runtime on the processors that its pinned workers leave to it.

ONNX Runtime, opened with its defaults, pins a worker to every core but the first and leaves the
calling thread free. If the kernel keeps the caller on a worker's core, both share it, and a run
takes as long as with one thread less, often for many runs in a row. Linux only; elsewhere nothing
is done.
"""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from time import perf_counter_ns

from hpcfair.typingnames import Self

#: Shortest run, in nanoseconds, that is worth a placement of its own: its system calls take 3 to 10
#: microseconds, which is up to 2 % of this.
SHORTEST_RUN_NS = 500_000

#: Uses after which the affinities of all threads are read, until one is placed: a worker pins
#: itself when it first runs, which may be later than the first use.
_MOST_READINGS = 5

#: Held by the thread that is placed. Threads that use several runtimes at once are left to the
#: kernel: all of them would be placed on the same core.
_TURN = threading.Lock()
_TASKS = Path("/proc/self/task")
_PROCESSORS = Path("/sys/devices/system/cpu")


class CallerPlacement:
    """A context manager around uses of one runtime, by one thread at a time.

    Inside, the calling thread may run only on processors to which no other thread of the process is
    pinned; its affinity is restored afterwards. Nothing is done

    - if the runtime does not pin its workers (:attr:`hpcfair.runtimes.base.Runtime.pins_workers`),
      or places the calling thread itself;
    - in the first use: a thread that the runtime creates only then would inherit the placement;
    - after a use that was shorter than ``shortest_ns``;
    - while another thread of this process is placed;
    - if no processor remains, such as with one processor or after ``taskset``;
    - with ``only_unrestricted``, while the calling thread may not run on all processors of its
      machine or container: somebody has chosen processors for it.

    Args:
        shortest_ns: Shortest use to place, in nanoseconds.
        only_unrestricted: Whether to leave a thread alone whose affinity was restricted.

    Attributes:
        is_active: Whether the last or current use is or was placed.
    """

    def __init__(
        self, runtime: object, shortest_ns: int = 0, *, only_unrestricted: bool = False
    ) -> None:
        # Runtimes of other packages may lack the attribute.
        self._applies = sys.platform == "linux" and getattr(runtime, "pins_workers", False)
        self._shortest_ns = shortest_ns
        self._only_unrestricted = only_unrestricted
        self._own: frozenset[int] = frozenset()
        self._remaining: frozenset[int] = frozenset()
        self._readings = 0
        self._before: set[int] | None = None
        self._has_turn = False
        self._is_short = False
        self._started_ns = 0
        self.is_active = False

    def __enter__(self) -> Self:
        self.is_active = False
        if not self._applies:
            return self
        self._has_turn = not self._is_short and _TURN.acquire(blocking=False)
        if self._has_turn:
            self._place()
        self._started_ns = perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._applies:
            return
        self._is_short = perf_counter_ns() - self._started_ns < self._shortest_ns
        if not self._has_turn:
            return
        try:
            if self._before is not None:
                _set_affinity(self._before)
            elif self._readings < _MOST_READINGS:
                self._readings += 1
                self._own = frozenset(os.sched_getaffinity(0))
                self._remaining = remaining_processors()
        finally:
            self._before = None
            self._has_turn = False
            _TURN.release()

    def _place(self) -> None:
        # Read each time: an administrator or a batch system may have changed it.
        before = os.sched_getaffinity(0)
        if self._only_unrestricted and before != processors_of_machine():
            return
        target = before & self._remaining
        # What remains is known for the affinity that it was read with, and for a part of it.
        if before <= self._own and target and target != before and _set_affinity(target):
            self._before = before
            self.is_active = True


def remaining_processors() -> frozenset[int]:
    """Processors of the calling thread that no other thread of this process is pinned to.

    A thread is pinned if it may not run on all processors of the calling thread. The other hardware
    threads of its cores are left out as well, as long as any processor remains. Empty if every
    processor has a pinned thread.
    """
    own = os.sched_getaffinity(0)
    pinned: set[int] = set()
    for task in _TASKS.iterdir():
        # A thread may end meanwhile.
        with suppress(OSError):
            affinity = os.sched_getaffinity(int(task.name))
            if not affinity >= own:
                pinned |= affinity
    left = frozenset(own - pinned)
    return frozenset(left.difference(*map(_hardware_threads, pinned))) or left


def processors_of_machine() -> set[int]:
    """The processors of this machine or container; empty if unknown.

    Those of its first process: it has the affinity that processes have unless it is changed.
    """
    try:
        return os.sched_getaffinity(1)
    except OSError:
        return set()


def _hardware_threads(processor: int) -> set[int]:
    """The processors of one core; only ``processor`` where the kernel does not list them."""
    path = _PROCESSORS / f"cpu{processor}/topology/thread_siblings_list"
    try:
        return processors_in(path.read_text())
    except (OSError, ValueError):
        return {processor}


def processors_in(text: str) -> set[int]:
    """The processors of a list as the kernel writes it: ``0-3,8`` (``cpuset(7)``, List format)."""
    processors: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        processors.update(range(int(first), int(last or first) + 1))
    return processors


def _set_affinity(processors: set[int]) -> bool:
    """Restrict the calling thread; whether the kernel allows it. It refuses processors that were
    taken offline or from the process's cpuset."""
    try:
        os.sched_setaffinity(0, processors)
    except OSError:
        return False
    return True
