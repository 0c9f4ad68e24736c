"""Exclusion of paths from uploads by ``.gitignore``.

Rules of git's ``gitignore`` manual page for one file at the top: the last matching line decides,
``!`` includes a path again, a final slash matches folders only, and files in an excluded folder
cannot be included again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from registry.errors import Invalid
from registry.validation.wildcards import matches, parts_of

MAX_IGNORE_BYTES = 1 << 16
#: Upper bound on the patterns, since each is compared with each path; usual lists have hundreds.
MAX_LINES = 2000


@dataclass(frozen=True, slots=True)
class _Line:
    pattern: list[str]
    ignores: bool
    folders_only: bool


def ignore_rule(text: str) -> Callable[[str], bool]:
    """A predicate of a path: whether it is excluded.

    Raises ``Invalid``: ``invalid_request`` if ``text`` exceeds the bounds.
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
    # Of final spaces, only one after a backslash counts.
    text = raw.rstrip(" ")
    if text.endswith("\\") and text != raw:
        text += " "
    ignores = not text.startswith("!")
    text = text if ignores else text[1:]
    if not text.strip("/") or (ignores and text.startswith("#")):
        return None
    folders_only = text.endswith("/")
    return _Line(parts_of(text.removesuffix("/")), ignores, folders_only)
