"""Short texts that people type and others read on one line."""

from registry.errors import Invalid


def check_text(text: str, *, field: str, most: int, least: int = 0) -> str:
    """``text`` if it has ``least`` to ``most`` characters, all of which can be seen.

    Raises:
        Invalid: ``invalid_request`` with ``field`` in its fields.
    """
    fault = ""
    if len(text.strip()) < least:
        fault = "is empty" if not text.strip() else f"has fewer than {least} characters"
    elif len(text) > most:
        fault = f"is longer than {most} characters"
    elif not text.isprintable():
        fault = "holds a control character"
    if fault:
        raise Invalid("invalid_request", f"{field} {fault}.", fields={field: fault})
    return text
