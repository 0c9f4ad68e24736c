"""Paths of files inside a revision.

Paths are written to many file systems by many tools. Paths that are dangerous on any of them are
rejected: those that leave the folder, invisible characters, and every spelling of git's own folder.
"""

import unicodedata
from collections.abc import Iterable, Iterator

from registry.errors import Invalid

MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 255
# Cc, Cs: control characters and lone surrogates; Cf, Zl, Zp, Cn: invisible characters.
_UNSEEN = frozenset({"Cc", "Cs", "Cf", "Zl", "Zp", "Cn"})


def check_path(path: str) -> str:
    """``path`` if it is valid. Raises ``Invalid``: ``invalid_path``, with the reason."""
    fault = _fault_of(path)
    if fault:
        raise Invalid(
            "invalid_path",
            f"{path[:200]!r} is not a valid file path: {fault}.",
            "Give the path relative to the repository's folder, with '/' as separator.",
        )
    return path


def check_together(paths: Iterable[str]) -> None:
    """Check that files can coexist on every file system. Raises errors of :func:`clashes`."""
    for _, refusal in clashes(paths):
        raise refusal


def clashes(paths: Iterable[str]) -> Iterator[tuple[str, Invalid]]:
    """Paths that conflict with an earlier one in sorted order, with the error.

    It is ``case_collision`` if they differ only by case or Unicode normalisation, ``invalid_path``
    if one is a parent folder of the other.
    """
    spellings: dict[str, str] = {}
    names = set(paths)
    for path in sorted(names):
        for prefix in _prefixes(path):
            other = spellings.setdefault(_folded(prefix), prefix)
            if other != prefix:
                yield path, case_collision(other, prefix)
                break
            if prefix != path and prefix in names:
                yield path, file_in_the_way(prefix, path)
                break


def case_collision(one: str, other: str) -> Invalid:
    """The error for two paths that differ only by case or Unicode normalisation."""
    first, second = sorted((one, other))
    return Invalid(
        "case_collision",
        f"{first!r} and {second!r} are the same name on some file systems.",
        "Use the same spelling, or rename one.",
    )


def file_in_the_way(file: str, path: str) -> Invalid:
    """The error for a ``file`` that another path would have to be below."""
    return Invalid(
        "invalid_path",
        f"{file!r} is a file, so {path!r} cannot be in it.",
        "Rename one of them, or delete it in the same commit.",
    )


def check_once(paths: Iterable[str]) -> None:
    """Check that no path is repeated. Raises ``Invalid``: ``duplicate_path``."""
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise Invalid(
                "duplicate_path",
                f"{path[:200]!r} occurs more than once in one commit.",
                "Name each path once.",
            )
        seen.add(path)


def _fault_of(path: str) -> str:
    if not path:
        return "it is empty"
    if any(unicodedata.category(character) in _UNSEEN for character in path):
        return "it contains a control character or an invisible one"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    if "\\" in path:
        return "it contains a backslash"
    if path.startswith("/"):
        return "it is absolute"
    return next(filter(None, map(_fault_of_part, path.split("/"))), "")


def _fault_of_part(part: str) -> str:
    if not part:
        return "it contains '//' or ends in '/'"
    if part in {".", ".."}:
        return f"it contains {part!r}"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"a part of it is longer than {MAX_PART_BYTES} bytes"
    # "git~1" is the short name of ".git" on old Windows file systems.
    if _folded(part).rstrip(". ") in {".git", "git~1"}:
        return "it is git's own folder"
    return ""


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
