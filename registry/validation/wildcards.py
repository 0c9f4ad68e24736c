"""Path patterns of ``.gitattributes`` and ``.gitignore``.

Source: git's ``gitignore`` manual page. A pattern without a slash matches a name in any folder, one
with a slash the whole path; ``**`` matches any number of folders. Patterns are untrusted: matching
does not backtrack, and takes time proportional to the product of both lengths.
"""

import re
from fnmatch import fnmatchcase


def parts_of(pattern: str) -> list[str]:
    """The pattern's parts; one that matches in any folder begins with ``**``."""
    # An escaped slash is a slash.
    pattern = re.sub(r"\\(.)", lambda it: "/" if it[1] == "/" else it[0], pattern)
    anchored = "/" in pattern
    parts = pattern.removeprefix("/").split("/")
    parts = parts if anchored else ["**", *parts]
    # Repeated "**" match the same paths and would cost time.
    return [
        _fnmatch(part)
        for before, part in zip(["", *parts], parts, strict=False)
        if not before == part == "**"
    ]


def matches(pattern: list[str], path: list[str]) -> bool:
    """Whether ``pattern``, from :func:`parts_of`, matches the whole path with these parts."""
    if len(pattern) == 2 and pattern[0] == "**" and pattern[1] != "**":
        return fnmatchcase(path[-1], pattern[1])
    # Numbers of path parts that the pattern so far can have matched.
    reached = {0}
    for position, part in enumerate(pattern):
        if part == "**":
            last = position == len(pattern) - 1
            # A final "**" must match at least one part.
            reached = {n for start in reached for n in range(start + last, len(path) + 1)}
        else:
            reached = {n + 1 for n in reached if n < len(path) and fnmatchcase(path[n], part)}
    return len(path) in reached


def _fnmatch(part: str) -> str:
    """Git's wildcards in the syntax of fnmatch: ``[^a]`` is ``[!a]``, ``\\*`` is ``[*]``."""
    return re.sub(
        r"\\(.)",
        lambda escaped: f"[{escaped[1]}]" if escaped[1] in "*?[" else escaped[1],
        part.replace("[^", "[!"),
    )
