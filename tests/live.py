"""What the live servers of a process are doing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_S = 120.0


class RequestsInProgress:
    """Counts requests that were read and are not done with yet. Used by many threads."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request while the block lasts."""
        self._add(1)
        try:
            yield
        finally:
            self._add(-1)

    def wait(self) -> None:
        """Wait until there are none."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._count == 0, _PATIENCE_S)
        assert ended, f"{self._count} requests to the live server do not end"

    def _add(self, number: int) -> None:
        with self._changed:
            self._count += number
            self._changed.notify_all()
