"""The rate of progress reports."""

import time

_EVERY_S = 0.5


class ReportPace:
    """Limits progress reports of a job to two a second, except for a new step."""

    def __init__(self) -> None:
        self._step: tuple[str, int] = ("", -1)
        self._at = 0.0

    def is_due(self, phase: str, done: int) -> bool:
        """Whether to send a report of this step. If so, the report counts as sent."""
        now = time.monotonic()
        if (phase, done) == self._step and now - self._at < _EVERY_S:
            return False
        self._step, self._at = (phase, done), now
        return True
