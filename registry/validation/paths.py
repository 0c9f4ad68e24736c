"""Paths of files inside a revision.

A path is written to many file systems by many tools, so what one of them misreads is refused:
climbing out of the folder, hidden characters, and git's own folder in every spelling that some
file system folds into ``.git``.
"""

import unicodedata
from collections.abc import Iterable, Iterator

from registry.errors import Invalid

MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 255
# Cc, Cs: control characters and lone surrogates; Cf, Zl, Zp: characters that show as nothing.
_UNSEEN = frozenset({"Cc", "Cs", "Cf", "Zl", "Zp", "Cn"})


def check_path(path: str) -> str:
    """``path`` if it may name a file of a revision.

    Raises:
        Invalid: ``invalid_path``, saying what is wrong with it.
    """
    fault = _fault_of(path)
    if fault:
        raise Invalid(
            "invalid_path",
            f"{path[:200]!r} cannot be a file's path: {fault}.",
            "Give the path relative to the model's folder, parted by '/'.",
        )
    return path


def check_together(paths: Iterable[str]) -> None:
    """Check that files with these paths can lie in one folder on every file system.

    Raises:
        Invalid: see :func:`clashes`.
    """
    for _, refusal in clashes(paths):
        raise refusal


def clashes(paths: Iterable[str]) -> Iterator[tuple[str, Invalid]]:
    """Each path that cannot lie beside those before it in order, and why.

    The reason is ``case_collision`` where two differ only by case or by the spelling of an
    accent, ``invalid_path`` where one is a folder on the way to another.
    """
    spelled: dict[str, str] = {}
    names = set(paths)
    for path in sorted(names):
        for prefix in _prefixes(path):
            known = spelled.setdefault(_folded(prefix), prefix)
            if known != prefix:
                first, second = sorted((known, prefix))
                yield (
                    path,
                    Invalid(
                        "case_collision",
                        f"{first!r} and {second!r} are the same name on some file systems.",
                        "Spell both alike, or rename one.",
                    ),
                )
                break
            if prefix != path and prefix in names:
                yield (
                    path,
                    Invalid(
                        "invalid_path",
                        f"{prefix!r} is a file, so {path!r} cannot lie in it.",
                        "Rename one of them, or delete it in the same commit.",
                    ),
                )
                break


def check_once(paths: Iterable[str]) -> None:
    """Check that no path is given twice.

    Raises:
        Invalid: ``duplicate_path``.
    """
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise Invalid(
                "duplicate_path",
                f"{path[:200]!r} is given more than once in one commit.",
                "Name each path once.",
            )
        seen.add(path)


def _fault_of(path: str) -> str:
    if not path:
        return "it is empty"
    if any(unicodedata.category(character) in _UNSEEN for character in path):
        return "it holds a control character or an invisible one"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    if "\\" in path:
        return "it holds a backslash"
    if path.startswith("/"):
        return "it is absolute"
    return next(filter(None, map(_fault_of_part, path.split("/"))), "")


def _fault_of_part(part: str) -> str:
    if not part:
        return "it holds '//' or ends in '/'"
    if part in {".", ".."}:
        return f"it holds {part!r}"
    if len(part.encode()) > MAX_PART_BYTES:
        return f"a part of it is longer than {MAX_PART_BYTES} bytes"
    # "git~1" is the short name old Windows file systems give to ".git".
    if _folded(part).rstrip(". ") in {".git", "git~1"}:
        return "it names git's own folder"
    return ""


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
