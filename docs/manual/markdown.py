"""Pieces of Markdown from texts of the code."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]+`+)")


def escaped(text: str) -> str:
    """``text`` with the characters that Markdown would read as HTML escaped, except in code."""
    parts = _CODE.split(text)
    return "".join(
        part if at % 2 else part.replace("&", "&amp;").replace("<", "&lt;")
        for at, part in enumerate(parts)
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks in cells become spaces. ``""`` without rows."""
    lines = [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    if not lines:
        return ""
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*head, *lines, ""])


def demoted(text: str, levels: int = 1) -> str:
    """``text`` with its headings lowered by ``levels``; fenced blocks stay as they are."""
    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = line.startswith("#") and not fenced
        lines.append("#" * levels + line if heading else line if fenced else escaped(line))
    return "\n".join(lines)


def _cell(text: str) -> str:
    return escaped(" ".join(text.split())).replace("|", "\\|")
