"""Ends the agent after a signal, or before the end of its allocation.

A first SIGTERM or SIGINT drains the device: it claims no more jobs, and the current one has some
time to end. After this time, at a second signal, or when the allocation ends, the work is
interrupted and handed back; its stored results are reused by the next attempt.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

from workers.engine.errors import Cancelled

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
#: Shortest and longest time of a timer in seconds.
_SHORTEST_S, _LONGEST_S = 0.001, 86_400.0
_WAKE_BYTES = 4096


class Stop:
    """Receives the signals of this process. Used in its main thread; a context manager.

    Attributes:
        is_requested: Whether no more jobs are to be claimed.
    """

    def __init__(self, *, drain_s: float, ends_in_s: float | None = None) -> None:
        """
        Args:
            drain_s: Seconds that the current job has after a first signal.
            ends_in_s: Seconds from now after which the work is interrupted; ``None``: no limit.
        """
        self.is_requested = False
        self._drain_s = drain_s
        self._due_at = float("inf") if ends_in_s is None else time.monotonic() + ends_in_s
        self._interrupts = False
        self._is_deferred = False
        self._former: dict[int, Any] = {}
        self._wake_read, self._wake_write = os.pipe()
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._former[number] = signal.signal(number, self._receive)
        self._arm()
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._former.items():
            signal.signal(number, handler)
        os.close(self._wake_read)
        os.close(self._wake_write)

    @property
    def is_due(self) -> bool:
        """Whether the work has to end now."""
        return time.monotonic() >= self._due_at

    @property
    def available_s(self) -> float | None:
        """Seconds that a new job may take; ``None`` without a limit."""
        left_s = self._due_at - time.monotonic()
        return None if left_s == float("inf") else max(0.0, left_s)

    def check(self) -> None:
        """Raise Cancelled if the work has to end now."""
        if self.is_due:
            raise Cancelled("The agent ends: the job is handed back.")

    def move(self, ends_in_s: float | None) -> None:
        """Set another end of the allocation, which was prolonged or shortened; ``None``: none."""
        if not self.is_requested:
            self._due_at = float("inf") if ends_in_s is None else time.monotonic() + ends_in_s
            self._arm()

    def wait(self, seconds: float) -> None:
        """Wait for some time, or until a signal arrives."""
        if select.select([self._wake_read], [], [], max(0.0, seconds))[0]:
            os.read(self._wake_read, _WAKE_BYTES)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """A block that is interrupted by Cancelled, wherever it is, when the work has to end."""
        self.check()
        self._interrupts = True
        try:
            yield
        finally:
            self._interrupts = False

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """A short block inside of :meth:`interruptible` that is not interrupted."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
        if self._interrupts:
            self.check()

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            limit_s = 0.0 if self.is_requested else self._drain_s
            self._due_at = min(self._due_at, time.monotonic() + limit_s)
        # Before the moment is compared with the clock, so that it cannot pass unnoticed.
        self._arm()
        self.is_requested |= number != signal.SIGALRM or self.is_due
        if self.is_requested:
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake_write, b".")
        if self._interrupts and self.is_due and not self._is_deferred:
            self._interrupts = False
            self.check()

    def _arm(self) -> None:
        """Set the timer for the moment at which the work has to end; none if that has passed."""
        left_s = self._due_at - time.monotonic()
        # 0 stops the timer, as do times that are rounded to it. One that is far away is set again
        # when it fires.
        wait_s = 0.0 if left_s <= 0 else min(max(left_s, _SHORTEST_S), _LONGEST_S)
        signal.setitimer(signal.ITIMER_REAL, wait_s)
