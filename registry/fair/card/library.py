"""Libraries that file names prove or disprove; without characteristic files, the card decides."""

from collections.abc import Collection

from hpcfair.formats import FORMATS
from registry.validation.labels import LIBRARY_FILES

#: Library to the format that its files have.
_FORMATS = {library: each for each in FORMATS for library in each.libraries}
_MARKS = {library: name for name, library in LIBRARY_FILES.items()}


def proven_library(paths: Collection[str]) -> str | None:
    """The library of the files; ``None`` if there are networks of several or unknown formats."""
    formats = [
        each
        for each in FORMATS
        if each.libraries and each.distinctive and any(map(each.matches, paths))
    ]
    return formats[0].libraries[0] if len(formats) == 1 else None


def disproof(library: str, paths: Collection[str]) -> str | None:
    """Why the files contradict ``library``, as a clause; ``None`` if they do not."""
    name = library.casefold()
    file_format = _FORMATS.get(name)
    if file_format and not any(map(file_format.matches, paths)):
        return f"no file ends in {' or '.join(file_format.suffixes)}"
    if file_format or name not in _MARKS or _MARKS[name] in paths:
        return None
    return next((f"{mark} is of {of}" for mark, of in LIBRARY_FILES.items() if mark in paths), None)
