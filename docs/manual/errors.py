"""Reference of error codes and exit statuses."""

from manual.markdown import table
from registry.errors import CODES


def error_page() -> str:
    """All error codes with their meaning."""
    return table(("code", "meaning"), ((f"`{code}`", text) for code, text in sorted(CODES.items())))
