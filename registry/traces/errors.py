"""The error of this package."""


class TraceError(ValueError):
    """A sketch or decisions that are not in the format of MetaSchedule's traces."""
