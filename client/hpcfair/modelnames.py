"""Suggests names for one that was mistyped."""

from collections.abc import Iterator
from difflib import get_close_matches

from hpcfair import catalogue
from hpcfair.cache import Cache
from hpcfair.errors import HpcfairError, ModelNotFound
from hpcfair.transport import Transport

_QUESTION = "Did you mean"
_MOST = 100
_LIKENESS = 0.75


def suggest_names(error: ModelNotFound, http: Transport, cache: Cache, name: str) -> None:
    """Add names like ``name`` to the hint of an error, unless it has some."""
    if _QUESTION in error.hint:
        return
    candidates = set(_candidates(http, cache, name))
    if similar := get_close_matches(name, candidates, n=3, cutoff=_LIKENESS):
        error.hint = f"{error.hint} {_QUESTION} {' or '.join(similar)}?".strip()


def _candidates(http: Transport, cache: Cache, name: str) -> Iterator[str]:
    """Models of the namespace, in which the name may be wrong, and of that name in others."""
    namespace, _, own = name.partition("/")
    for query in (f"by:{namespace}", own):
        try:
            yield from (hit.name for hit in catalogue.search(http, cache, query, limit=_MOST))
        except HpcfairError:
            # There may be no such namespace, and the name is unknown for another reason.
            continue
