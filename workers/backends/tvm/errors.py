"""Shortens TVM's error messages."""

_LONGEST = 400


def reason_of(error: BaseException) -> str:
    """The reason in a message of TVM, without source positions and the C++ stack trace, which comes
    before or after a line ``...Error: reason``."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line for line in lines if "Error: " in line or line.startswith("Check failed")]
    line = (reasons or lines or [""])[-1]
    text = line.rpartition("InternalError: ")[2] or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
