"""Checks of the columns that workers report."""

from collections.abc import Mapping, Sequence
from typing import Any

from registry.errors import Invalid
from registry.validation.texts import check_json


def check_columns(
    columns: Mapping[str, Any],
    required: frozenset[str],
    optional: frozenset[str] = frozenset(),
    choices: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Check that columns are complete, known and storable JSON.

    ``choices`` maps a column to its allowed values; an optional column may be empty.
    ``failure_detail`` is not checked: it is cleaned before it is stored. Raises ``Invalid``
    ``invalid_request``; its ``fields`` name the columns.
    """
    fields = dict.fromkeys(required - columns.keys(), "is missing")
    fields |= dict.fromkeys(columns.keys() - required - optional, "is not known")
    for name, values in (choices or {}).items():
        may_be_empty = name in optional and not columns.get(name)
        if not may_be_empty and columns.get(name) not in values:
            fields.setdefault(name, f"must be one of {', '.join(values)}")
    if fields:
        raise Invalid("invalid_request", "These columns cannot be stored.", fields=fields)
    check_json({name: value for name, value in columns.items() if name != "failure_detail"})
