"""Checks definitions of targets from operators and files."""

from collections.abc import Callable, Mapping
from typing import Any

from registry.errors import Invalid
from registry.validation.facts import is_line, is_word

_MOST_TARGETS = 1000
_DEFAULTS: dict[str, Any] = {
    "title": "", "architecture": "", "features": [], "rank": 0, "memory_bytes": 0, "cores": 0,
}  # fmt: skip


def check_target(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a target with this definition, defaults included.

    Raises ``Invalid``: ``invalid_target``, with the columns in its fields.
    """
    columns = _DEFAULTS | dict(definition)
    faults = {
        name[:64]: f"is not a column of a target; columns are {', '.join(_DEFAULTS)}"
        for name in map(str, columns)
        if name not in _DEFAULTS
    }
    faults |= {
        name: fault for name, (is_fine, fault) in _RULES.items() if not is_fine(columns[name])
    }
    if faults:
        raise Invalid(
            "invalid_target",
            "The definition of the target is invalid.",
            "; ".join(f"{name} {fault}" for name, fault in faults.items()) + ".",
            fields=faults,
        )
    return columns


def check_document(document: Any) -> list[tuple[str, dict[str, Any]]]:
    """Slugs and definitions of a document's targets, in its order.

    Raises ``Invalid``: ``invalid_target``.
    """
    rows = document.get("targets") if isinstance(document, dict) else None
    is_list = isinstance(rows, list) and 0 < len(rows) <= _MOST_TARGETS
    if not is_list or not all(isinstance(row, dict) and _is_slug(row) for row in rows or ()):
        raise Invalid(
            "invalid_target",
            "The document lists no targets.",
            'Give {"targets": [{"slug": ..., "architecture": ..., ...}]}, as '
            "`hpcfair targets detect --json` prints it.",
        )
    return [
        (row["slug"], {name: value for name, value in row.items() if name != "slug"})
        for row in rows or ()
    ]


def _is_slug(row: dict[str, Any]) -> bool:
    return isinstance(row.get("slug"), str)


def _is_architecture(value: object) -> bool:
    return is_word(value) and len(str(value)) <= 32


def _are_features(value: object) -> bool:
    return isinstance(value, list) and len(value) <= 200 and all(map(is_word, value))


# Exact types, because bool is a subclass of int.
def _whole(low: int, high: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and low <= value <= high


_RULES: dict[str, tuple[Callable[[object], bool], str]] = {
    "title": (is_line, "must be a line of at most 200 characters"),
    "architecture": (_is_architecture, "must be a name such as x86-64"),
    "features": (_are_features, "must be a list of names such as avx2"),
    "rank": (_whole(-1000, 1000), "must be a whole number from -1000 to 1000"),
    "memory_bytes": (_whole(0, 2**60), "must be a number of bytes; 0: any"),
    "cores": (_whole(0, 65_536), "must be a number of cores; 0: any"),
}
