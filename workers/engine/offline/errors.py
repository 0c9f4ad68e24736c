"""Errors of measurements of the throughput."""


class NotMeasured(Exception):
    """The throughput is not measured; the message says why."""
