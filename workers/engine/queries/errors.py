"""Errors of measurements of queries."""


class NotMeasured(Exception):
    """A scenario of queries is not measured; the message says why.

    Attributes:
        needed_s: Seconds of the measurement that may suffice; ``None`` if no time does.
    """

    def __init__(self, reason: str, needed_s: float | None = None) -> None:
        super().__init__(reason)
        self.needed_s = needed_s
