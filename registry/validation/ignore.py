"""Which paths ``.gitignore`` keeps out of uploads.

Git's own rule (its ``gitignore`` manual page), of one file at the top: the last line that matches
decides, ``!`` takes a path back in, a slash at the end means folders, and what lies in a folder
that is left out cannot be taken back in.
"""

from collections.abc import Callable
from dataclasses import dataclass

from registry.errors import Invalid
from registry.validation.wildcards import matches, parts_of

MAX_IGNORE_BYTES = 1 << 16
#: Every line is compared with every path; the longest lists people share have a few hundred.
MAX_LINES = 2000


@dataclass(frozen=True, slots=True)
class _Line:
    pattern: list[str]
    ignores: bool
    folders_only: bool


def ignore_rule(text: str) -> Callable[[str], bool]:
    """A function of a path: is it left out?

    Raises:
        Invalid: ``invalid_request`` if ``text`` is longer than anybody would write.
    """
    lines = [line for raw in text.splitlines() if (line := _line(raw)) is not None]
    if len(text) > MAX_IGNORE_BYTES or len(lines) > MAX_LINES:
        raise Invalid(
            "invalid_request",
            f"A .gitignore may have {MAX_LINES} patterns in {MAX_IGNORE_BYTES} bytes.",
            "Leave out the files on your side, with ignore_patterns.",
        )
    lines.reverse()
    folders: dict[str, bool] = {}

    def decided(path: list[str], *, folder: bool) -> bool:
        return next(
            (
                line.ignores
                for line in lines
                if (folder or not line.folders_only) and matches(line.pattern, path)
            ),
            False,
        )

    def ignored(path: str) -> bool:
        parts = path.split("/")
        for length in range(1, len(parts)):
            folder = "/".join(parts[:length])
            if folder not in folders:
                folders[folder] = decided(parts[:length], folder=True)
            if folders[folder]:
                return True
        return decided(parts, folder=False)

    return ignored


def _line(raw: str) -> _Line | None:
    # Of the spaces at the end only one behind a backslash counts.
    text = raw.rstrip(" ")
    if text.endswith("\\") and text != raw:
        text += " "
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    if not text.strip("/") or (ignores and text.startswith("#")):
        return None
    folders_only = text.endswith("/")
    return _Line(parts_of(text.removesuffix("/")), ignores, folders_only)
