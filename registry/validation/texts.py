"""Texts that people type."""

import unicodedata

from registry.errors import Invalid

# Control characters, lone surrogates (which no database stores) and line separators.
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_text(text: str, *, field: str, most: int, least: int = 0) -> str:
    """``text`` if it has ``least`` to ``most`` characters and fits on one line.

    Raises:
        Invalid: ``invalid_request`` with ``field`` in its fields.
    """
    fault = ""
    if len(text.strip()) < least:
        fault = "is empty" if not text.strip() else f"has fewer than {least} characters"
    elif len(text) > most:
        fault = f"is longer than {most} characters"
    elif unseen(text):
        fault = "holds a control character"
    if fault:
        raise Invalid("invalid_request", f"{field} {fault}.", fields={field: fault})
    return text


def check_lines(text: str, *, what: str, field: str, most: int, least: int = 1) -> str:
    """``text`` as it is kept, if it has ``least`` to ``most`` characters, line breaks among them.

    Args:
        what: What it is, for people.

    Raises:
        Invalid: ``invalid_request`` with ``field`` in its fields.
    """
    text = text.replace("\r\n", "\n").strip()
    fault = ""
    if len(text) < least:
        fault = "is empty"
    elif len(text) > most:
        fault = f"is longer than {most} characters"
    elif unseen(text, but="\n\t"):
        fault = "holds a control character"
    if fault:
        raise Invalid("invalid_request", f"The {what} {fault}.", fields={field: fault})
    return text


def unseen(text: str, *, but: str = "") -> str:
    """The first character of ``text`` that nobody can see and no line holds, "" if there is none.

    Args:
        but: Characters to let pass, such as line breaks.
    """
    if text.isprintable():
        return ""
    found = (c for c in text if c not in but and unicodedata.category(c) in _UNSEEN)
    return next(found, "")


def message_of(title: str, body: str) -> str:
    """A commit's message out of the two parts clients send it in."""
    return f"{title.strip()}\n\n{body.strip()}".strip()
