"""The state of the limits in this process, for tests."""

from hub.throttling import bucket


def forget_local() -> None:
    """Forget the buckets of this process, and that the broker did not answer."""
    bucket._local._full_at.clear()
    bucket._broker.resume_at = 0.0
