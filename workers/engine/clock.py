"""The clock of a search: real, or virtual in tests."""

import time
from typing import Protocol


class Clock(Protocol):
    """The time."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        ...


class SystemClock:
    """Real time; a :class:`Clock`."""

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
