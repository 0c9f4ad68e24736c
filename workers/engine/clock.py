"""The system's clock, behind the engine's :class:`~workers.engine.ports.Clock`."""

import time


class SystemClock:
    """Real time."""

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
