"""What is not known is not written."""

from typing import Any


def known(**values: Any) -> dict[str, Any]:
    """``values`` without those that say nothing: ``None`` and empty texts, tuples, lists, dicts.

    Numbers and truths always say something: ``0`` and ``False`` stay. Keys that are no Python
    names are given as ``known(**{"@id": url})``.
    """
    return {key: value for key, value in values.items() if not _is_absent(value)}


def _is_absent(value: object) -> bool:
    return value is None or (isinstance(value, str | tuple | list | dict) and not value)
