"""What TVM says when it fails, in the words that matter."""

_LONGEST = 400


def reason_of(error: BaseException) -> str:
    """The last line that says something, without stack and source positions of TVM's own.

    Its messages carry a C++ stack in front of, or behind, one line ``...Error: reason``.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "Error: " in line or line.startswith("Check failed")]
    line = (said or lines or [""])[-1]
    text = line.rpartition("InternalError: ")[2] or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
